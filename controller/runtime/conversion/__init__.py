"""The webhook that converts between the versions of a kind: responses, certificates, and their keeper."""
