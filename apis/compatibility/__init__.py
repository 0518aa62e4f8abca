"""What a changed definition does to clients and to stored objects."""
