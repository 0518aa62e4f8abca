"""When a key is worked on: queues, their rate limiters, orders and metrics."""
