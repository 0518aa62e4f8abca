"""One controller: its workers, what a reconcile gets, and its reports."""
