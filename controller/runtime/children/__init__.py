"""The objects that a reconcile makes: applied, owned, and what was applied last."""
