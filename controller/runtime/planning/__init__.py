"""Plan the writes of a run: reconcile with dry runs only, and record the fields that would change."""
