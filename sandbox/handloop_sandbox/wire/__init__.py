"""
The vocabulary of the API: resources, names, queries, selectors, refusals, and Go's spelling of JSON, YAML and
times. Pure functions and values, without state.
"""
