"""Mirrors the cluster: list and watch, delta FIFO, indexed store, handlers, listers."""
