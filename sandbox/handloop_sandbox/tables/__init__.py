"""Converts objects to the rows of a Table, which kubectl get prints."""
