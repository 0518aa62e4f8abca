"""From watch events, referred objects and news of elsewhere to the names in a queue."""
