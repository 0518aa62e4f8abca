"""
MyApp, with a controller built on the runtime (Foo has a handwritten one). To write your own controller, start
with a copy of this folder.

    types.py       the kind: its fields, defaults, validation, printer columns
    reconciler.py  the controller: what it watches, and one reconcile, step by step; start here
    children.py    Deployment, Service and autoscaler: their desired state, their owner, and how to write them
    status.py      the status, its conditions, and the Events that report its changes
"""
