"""A program that prints Samples when they change, with an informer but without a queue."""
