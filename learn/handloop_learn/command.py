"""The walkthrough's command line, as the reader can type it on this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final


def python() -> str:
    """Return `python` if that starts this interpreter, and otherwise the interpreter's path."""
    if os.environ.get("VIRTUAL_ENV"):
        return "python"
    interpreter = Path(sys.executable)
    try:
        return str(interpreter.relative_to(Path.cwd()))
    except ValueError:
        return "python" if interpreter.parent in map(Path, os.get_exec_path()) else str(interpreter)


COMMAND: Final = f"{python()} -m handloop walkthrough"
