"""What a run would write: reconciles with dry writes, and the fields that these would change."""
