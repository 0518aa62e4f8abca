"""
Custom resources: what their definitions may look like, structural schemas (pruning, defaults, validation),
and CEL.
"""
