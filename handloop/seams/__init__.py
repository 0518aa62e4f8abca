"""What each part gets from outside: clock, threads and locks; logs; the trace of steps."""
