"""
Foo, the kind of sample-controller, with a controller written by hand. Copy this folder to begin your own.

    types.py       the kind: the fields of a Foo, and further parts of its CRD
    controller.py  the plain controller, sample-controller's in Python: read it next to controller.go
    production.py  what a cluster needs beyond it, in ten pieces; `python -m controller` runs this one
    access.py      the requests that it makes, for roles and checks
    runnable.py    the controller in a Manager, which shares informers and elects a leader

`handloop.controller.myapp` does the same kind of work on the runtime, which spares handlers, queue and
workers.
"""
