"""
The API's text formats: quantities, durations, times, selectors for labels, fields and shards, and YAML.

It imports nothing from handloop, because the sandbox includes this folder through a symbolic link without
depending on handloop. Imports inside it are relative, because the folder is imported under two names.
"""
