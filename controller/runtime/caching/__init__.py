"""A process's informers: one kind across several namespaces, and waiting until the caches are filled."""
