"""How the cluster is mirrored: list and watch, delta FIFO, indexed store, handlers, listers."""
