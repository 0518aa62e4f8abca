"""
The allowed objects of built-in kinds, and their allowed changes, in the words of a real server.
validation.py maps kinds to their rules.
"""
