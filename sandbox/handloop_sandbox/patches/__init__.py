"""Applies JSON patches, merge patches and server-side apply, and records the managed fields of writes."""
