"""What every part takes from outside: clock, threads and locks; logs; the trace of steps."""
