"""What every part takes from outside, so that tests can replace it: clock, threads, locks; and logs and the trace of steps."""
