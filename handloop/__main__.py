"""`python -m handloop`: the same program as `python -m controller`."""

from __future__ import annotations

import sys

from handloop.controller.program import main

if __name__ == "__main__":
    sys.exit(main())
