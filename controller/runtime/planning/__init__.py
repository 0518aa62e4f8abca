"""Plans of what a run would write: reconciles with dry writes, and the fields that they would change."""
