"""
The state: objects by collection, one resource version counter, and the history from which watches and lists
continue. This folder knows nothing about the meaning of kinds.
"""
