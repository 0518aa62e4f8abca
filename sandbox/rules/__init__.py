"""
What objects of built-in kinds may look like, and what of them may change, in the words of a real server.
validation.py says which rules belong to which kind.
"""
