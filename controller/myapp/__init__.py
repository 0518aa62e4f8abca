"""
MyApp, with a controller on the runtime: copy this folder to begin your own. Foo's does such work by hand.

    types.py       the kind: its fields, defaults, validation, printer columns
    reconciler.py  the controller: what it watches, and one reconcile, step by step; begin here
    children.py    Deployment, Service and autoscaler: as wanted, whose they are, how they are written
    status.py      the status, its conditions, and the Events that go with a change of it
"""
