"""The place to learn how a Kubernetes controller works inside, by reading it and watching it."""
