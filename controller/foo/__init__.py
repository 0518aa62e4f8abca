"""
Foo, sample-controller's kind, with a handwritten controller. To write your own, start with a copy of this
folder.

    types.py       the kind: the fields of a Foo, and the other parts of its CRD
    controller.py  the plain controller, sample-controller in Python: read it alongside controller.go
    production.py  what a real cluster also needs, in ten pieces; `python -m controller` runs this one
    access.py      the requests that the controller makes, for roles and checks
    runnable.py    the controller in a Manager, which shares informers and elects a leader

`handloop.controller.myapp` does the same kind of work on the runtime, and needs no handlers, queue or workers
of its own.
"""
