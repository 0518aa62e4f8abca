"""What a test asks of the sandbox itself: ends of Jobs, fixtures, the clock, faults, a fresh start."""
