"""The chapters of catalog.py and the live page, which show how a controller works inside."""
