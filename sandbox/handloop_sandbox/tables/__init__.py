"""Objects as rows of a Table: what kubectl get prints."""
