"""
The stored state: objects by collection, one resource version counter, and the history of changes.

Watches and paged lists read the history. The code in this folder treats all kinds alike.
"""
