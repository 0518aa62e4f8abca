"""Eleven chapters on how a controller works inside: real parts, live state, no cluster. See catalog.py."""
