"""Convert objects between a kind's versions: the webhook, its responses and certificates, and its keeper."""
