"""Work queues, which decide when a key is worked on, with their rate limiters and metrics."""
