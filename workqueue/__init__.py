"""Decides when a key is worked on, with queues and their rate limiters, orders and metrics."""
