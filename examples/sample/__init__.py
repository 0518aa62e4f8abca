"""A program that prints Samples when they change: an informer, and no queue."""
