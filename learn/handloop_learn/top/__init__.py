"""`top`: a running program in the terminal, by the stream of its live page."""
