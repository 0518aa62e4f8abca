"""
Faults on command: refused, delayed, lost and silent requests, watches that end, lag or lie.

The core knows nothing of them: they act between the engine and the core, and between a watch and its client.
"""
