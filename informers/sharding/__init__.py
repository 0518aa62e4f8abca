"""Informers that hold only the objects of some slots, for several processes that share a kind."""
