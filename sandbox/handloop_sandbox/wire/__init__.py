"""
The vocabulary of the API: resources, names, queries, selectors, refusals, and JSON, YAML and times as Go
writes them. It consists of pure functions and values, without state.
"""
