"""
MyApp, an application of one image, with a controller on the runtime. Copy this folder to begin your own.

    types.py             the kind: its fields, defaults, validation, printer columns
    reconciler.py        the controller: what it watches, and one reconcile, step by step; begin here
    desired_children.py  the children that a MyApp wants: Deployment, Service, autoscaler
    changes.py           the patch that turns a child into the wanted one
    child.py             one child: looked up, created, corrected, deleted; foreign objects are left alone
    status.py            the status, its conditions, and the Events that go with a change of it
    access.py            the requests that it makes, for roles and checks

`handloop.controller.foo` does the same kind of work by hand, as sample-controller does.
"""
