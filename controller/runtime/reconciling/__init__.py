"""One controller: its workers, the arguments of a reconcile, and its reports."""
