"""The live page: the twelve steps of a running program, and the content of its queues and caches."""
