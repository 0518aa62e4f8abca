"""The objects that a reconcile creates: applying them, their owners, and the fields applied last."""
