"""Exercises for some chapters, and what looks at how they were solved."""
