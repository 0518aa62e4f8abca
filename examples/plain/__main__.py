"""The program: `python -m examples.plain --help`."""

from pathlib import Path

from handloop import main

from .controller import set_up

if __name__ == "__main__":
    main(set_up, name="plain-controller", version="0.1.0", sample=Path(__file__).with_name("sample.yaml"))
