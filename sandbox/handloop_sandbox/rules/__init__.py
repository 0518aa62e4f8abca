"""
The validation of built-in objects and changes to them, with a real server's messages.
validation.py maps kinds to their rules.
"""
