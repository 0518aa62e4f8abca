"""Informers that hold only the objects in some slots, so that several processes can share a kind."""
