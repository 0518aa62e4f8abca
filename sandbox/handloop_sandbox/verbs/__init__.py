"""
What a request does: create, update, patch, delete, read, watch, and the subresources.

A verb gets a Call and returns a Response; its changes wait in the Call.
"""
