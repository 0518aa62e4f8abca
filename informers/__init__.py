"""Mirrors the cluster, with list and watch, delta FIFO, indexed store, handlers and listers."""
