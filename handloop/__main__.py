"""`python -m handloop`: the same program as `python -m controller`; `walkthrough` teaches how it works."""

from __future__ import annotations

import sys
from typing import Final

_EXTRA: Final = ("aiohttp", "re2", "handloop.sandbox", "handloop.walkthrough")
_EXIT_USAGE: Final = 2


def main() -> int:
    """Run one command line. Returns: the exit code."""
    if sys.argv[1:2] == ["walkthrough"]:
        return _walkthrough()
    from handloop.controller.example_operator import main as run_program  # noqa: PLC0415 - the walkthrough needs less

    return run_program()


def _walkthrough() -> int:
    try:
        from handloop.walkthrough.program import main as run_walkthrough  # noqa: PLC0415 - most never ask for it

        return run_walkthrough(sys.argv[2:])
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        fix = 'pip install "handloop[sandbox]"'
        sys.stderr.write(f"error: the walkthrough runs on the sandbox, which is not installed: {fix}\n")
        return _EXIT_USAGE


if __name__ == "__main__":
    sys.exit(main())
