"""
MyApp, an application of one image, with a controller on the runtime. Copy this folder to begin your own.

    types.py       the kind: its fields, defaults, validation, printer columns
    reconciler.py  the controller: what it watches, and one reconcile, step by step; begin here
    children.py    Deployment, Service and autoscaler: as wanted, whose they are, how they are written
    status.py      the status, its conditions, and the Events that go with a change of it

`handloop.controller.foo` does the same kind of work by hand, as sample-controller does.
"""
