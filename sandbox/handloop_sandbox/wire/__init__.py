"""
The API's vocabulary: resources, names, queries, selectors, errors, and JSON, YAML and times in Go's form.

The package consists of pure functions and values, without state.
"""
