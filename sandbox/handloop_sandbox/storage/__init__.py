"""
The state: objects by collection, one resource version counter, and the history that watches and lists
continue from. This folder knows nothing about the meaning of kinds.
"""
