"""A virtual environment without an index."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path


def make_environment(folder: Path) -> Path:
    """
    A fresh one, whose dependencies are those of the tests; pip is among them, as `python -m pip`.

    Returns: the folder of its programs.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    return folder / "bin"
