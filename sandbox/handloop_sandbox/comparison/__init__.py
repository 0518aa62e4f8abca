"""Sends the objects in a folder to the sandbox and to another server, and compares the answers."""
