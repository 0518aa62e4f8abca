"""Turn watch events, referred objects and external news into names in a queue."""
