"""Guards against caches that lack a reconcile's own writes, against fights, and against silent mistakes."""
