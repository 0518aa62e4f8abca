"""Merge, JSON and strategic merge patches, server-side apply, and the managed fields that all writes keep."""
