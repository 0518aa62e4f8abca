"""The runnables of a manager, and the signals that stop a process."""
