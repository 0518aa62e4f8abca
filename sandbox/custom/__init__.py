"""Custom resources: what definitions may look like, structural schemas (pruning, defaults), CEL."""
