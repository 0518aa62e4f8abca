"""
Carries out requests: create, update, patch, delete, read and watch, and the subresources.

A verb receives a Call and returns a Response. The Call collects the verb's changes until they are committed.
"""
