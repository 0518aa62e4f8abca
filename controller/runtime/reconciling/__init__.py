"""One controller: its workers, what a reconcile gets, what is reported of it."""
