"""Decides when a key is worked on: queues, and their rate limiters, orders and metrics."""
