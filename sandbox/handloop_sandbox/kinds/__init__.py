"""
The built-in kinds.

This folder contains the generated tables (`*.json`, written by tools/), the defaults, and the code that
decodes and encodes objects as Go does.
"""
