"""Requests with which tests end Jobs, load fixtures, move the clock, inject faults and reset the sandbox."""
