"""`python -m handloop_sandbox`."""

import sys

from handloop_sandbox.program import main

if __name__ == "__main__":
    sys.exit(main())
