"""Compares the answers of the sandbox and of another server about the objects in a folder of files."""
