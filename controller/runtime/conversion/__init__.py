"""The webhook that converts objects between a kind's versions: its responses, certificates, and keeper."""
