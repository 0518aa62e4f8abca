"""The place to learn how a controller works inside: the chapters of catalog.py, and the live page."""
