"""When a key is worked on: queues, rate limiters, orders, and the seams for time, locks and threads."""
