"""Turn watch events, changes of referred objects, and events outside the cluster into names in a queue."""
