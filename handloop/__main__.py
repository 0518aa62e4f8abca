"""`python -m handloop`: the same program as `python -m controller`."""

from __future__ import annotations

import sys

try:
    from handloop.controller.program import main
except ModuleNotFoundError as error:
    if (error.name or "").startswith("handloop"):
        raise
    sys.exit(
        f"error: this Python has no {error.name}; in a checkout: `make venv`, then `. .venv/bin/activate`"
    )

if __name__ == "__main__":
    sys.exit(main())
