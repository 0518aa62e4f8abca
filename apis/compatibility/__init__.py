"""What a change of a definition does to clients, and to stored objects."""
