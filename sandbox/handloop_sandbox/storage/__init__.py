"""
The stored state: objects by collection, one resource version counter, and the history of changes.

Watches and paged lists read the history. This folder does not depend on the meaning of kinds.
"""
