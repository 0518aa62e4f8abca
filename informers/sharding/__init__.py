"""Informers that hold only the objects of some slots, where several processes share a kind."""
