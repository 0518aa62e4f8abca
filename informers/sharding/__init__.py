"""Informers that hold only the objects in some slots, for several processes that share a kind."""
