"""Apply the objects that a reconcile creates, set their owners, and remember the fields applied last."""
