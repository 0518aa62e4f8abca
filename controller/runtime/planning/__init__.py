"""Plans of what a run would write: reconciles whose writes are dry runs, and the fields they would change."""
