"""The effects of a changed definition on clients and stored objects."""
