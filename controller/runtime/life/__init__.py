"""What a manager runs, and how a process is asked to end."""
