"""
Injects faults: requests are refused, delayed, lost or left unanswered; watches end, lag or send wrong events.

Faults act between the engine and the API, and between a watch and its client. The API does not refer to them.
"""
