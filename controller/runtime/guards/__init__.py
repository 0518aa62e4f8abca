"""Guards: against a cache that lacks a reconcile's own writes, against fights, against silent mistakes."""
