"""
The validation of built-in kinds and of their changes, with a real server's messages.
validation.py maps kinds to their rules.
"""
