"""Mirrors the cluster into caches: list and watch, delta FIFO, indexed store, handlers and listers."""
