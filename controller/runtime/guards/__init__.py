"""Guards against stale caches, writers that undo each other's changes, and mistakes that cause no error."""
