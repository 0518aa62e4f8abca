"""The parts that a manager runs, and the signals that tell a process to end."""
