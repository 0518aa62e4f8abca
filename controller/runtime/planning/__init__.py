"""What a run would write: reconciles whose writes are dry, and the fields that they would change."""
