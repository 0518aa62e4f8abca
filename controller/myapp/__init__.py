"""
MyApp, with a controller on the runtime: copy this folder to start your own. Foo's is written by hand.

    types.py       the kind: its fields, defaults, validation, printer columns
    reconciler.py  the controller: what it watches, and one reconcile, step by step; start here
    children.py    Deployment, Service and autoscaler: what is wanted, who owns them, how they are written
    status.py      the status, its conditions, and the Events that report its changes
"""
