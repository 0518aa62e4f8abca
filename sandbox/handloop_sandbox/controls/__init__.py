"""Requests with which a test controls the sandbox: ended Jobs, fixtures, the clock, faults and a reset."""
