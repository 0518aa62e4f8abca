"""The informers of a process: one kind in several namespaces seen as one, and waiting for them."""
