"""Merge, JSON and strategic merge patches, server-side apply, and the managed fields of all writes."""
