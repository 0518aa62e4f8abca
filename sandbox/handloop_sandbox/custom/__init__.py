"""Custom resources: the rules for their definitions, structural schemas (pruning, defaults) and CEL rules."""
