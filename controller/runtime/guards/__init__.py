"""Guards against caches that lack a reconcile's own writes, fights between writers, and silent mistakes."""
