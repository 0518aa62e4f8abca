"""A single controller: its workers, the Context that a reconcile receives, and its logs and explanations."""
