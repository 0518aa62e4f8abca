"""Requests with which a test controls the sandbox: ending Jobs, fixtures, the clock, faults, a reset."""
