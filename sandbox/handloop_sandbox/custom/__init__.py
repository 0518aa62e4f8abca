"""Custom resources: rules for definitions, structural schemas (pruning, defaults), CEL rules."""
