"""
The validation of built-in objects and their updates, with a real server's messages.

validation.py maps each kind to its rules.
"""
