"""
Faults on command: requests that are refused, delayed, lost or left unanswered, and watches that end, lag or
lie.

The core knows nothing of them: they act between the engine and the core, and between a watch and its client.
"""
