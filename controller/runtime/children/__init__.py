"""The objects that a reconcile creates: how they are applied and owned, and what was applied last."""
