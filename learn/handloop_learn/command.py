"""The command line of the walkthrough, as this reader can type it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final


def python() -> str:
    """`python` in an active environment; otherwise what calls this interpreter from the working directory."""
    if os.environ.get("VIRTUAL_ENV"):
        return "python"
    interpreter = Path(sys.executable)
    try:
        return str(interpreter.relative_to(Path.cwd()))
    except ValueError:
        return "python" if interpreter.parent in map(Path, os.get_exec_path()) else str(interpreter)


COMMAND: Final = f"{python()} -m handloop walkthrough"
