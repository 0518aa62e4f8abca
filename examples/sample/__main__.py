"""The program: `python -m examples.sample --help`."""

from handloop import main

from .controller import set_up

if __name__ == "__main__":
    main(set_up, name="sample-printer", version="0.1.0")
