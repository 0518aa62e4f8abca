"""What every component receives from outside: the clock, threads, locks, logs and the trace of steps."""
