"""The place to learn how a controller works inside: eleven chapters (see catalog.py), and the live page."""
