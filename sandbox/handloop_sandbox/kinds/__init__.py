"""
The built-in kinds: generated tables (`*.json`, written by tools/), defaults, and objects as Go decodes and
encodes them.
"""
