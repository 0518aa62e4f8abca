"""The program `top`, which shows a running program in the terminal, from the stream of its live page."""
