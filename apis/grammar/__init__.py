"""
What the API writes as text: quantities, durations, times, selectors of labels, fields and shards, YAML.

It imports nothing of handloop: the sandbox carries this folder as its own, by a link, and needs no handloop.
Inside, imports are relative, since it has two names.
"""
