"""The informers of a process: one kind across several namespaces, and how to wait for the caches."""
