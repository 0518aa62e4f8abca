"""
What the requests do: create, update, patch, delete, read, watch, and the subresources.

A verb receives a Call and returns a Response; its changes are kept in the Call until they are committed.
"""
