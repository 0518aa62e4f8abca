"""The live page: the twelve steps of a running program, and what stands in its queues and caches."""
