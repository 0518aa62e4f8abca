"""Custom resources: rules of definitions, structural schemas (pruning, defaults), CEL."""
