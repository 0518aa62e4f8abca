"""
What the API writes as text: quantities, durations, times, selectors of labels, fields and shards, YAML.

It imports nothing from handloop, because the sandbox includes this folder through a link, and does not need
handloop. Imports inside it are relative, because it has two names.
"""
