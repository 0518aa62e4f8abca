"""What a manager runs, and how a process is told to end."""
