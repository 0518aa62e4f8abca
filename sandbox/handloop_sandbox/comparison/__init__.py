"""Compares the answers of the sandbox and another server about the objects in a folder of files."""
