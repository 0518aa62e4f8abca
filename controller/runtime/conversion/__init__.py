"""The webhook that converts between the versions of a kind: answers, certificates, and their keeper."""
