"""docs/testing-your-controller.md: its blocks are the tests of the guide's operator, and pass."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import handloop.testing

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/testing-your-controller.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs/your-first-controller.md").read_text(encoding="utf-8")


def blocks(page: str) -> dict[str, str]:
    """The named blocks of Python."""
    return dict(re.findall(r"^```python (\S+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))


def test_every_block_passes(tmp_path: Path) -> None:
    """Saved as files beside the guide's greeter.py, and run by somebody who has installed us."""
    tests = blocks(PAGE)
    for name, text in (tests | blocks(GUIDE)).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    options = ("-q", "-p", "handloop.pytest_plugin", "-p", "no:cacheprovider")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "pytest", *options],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{sum(text.count('def test_') for text in tests.values())} passed" in done.stdout


def test_the_page_uses_the_whole_kit() -> None:
    """Each name of the face, but for the types of what functions return."""
    shown = set(handloop.testing.__all__) - {"RequestAttributes", "FilledCaches"}
    assert not [name for name in shown if not re.search(rf"\b{name}\b", "".join(blocks(PAGE).values()))]
