"""The seeded bugs of this folder, the tree in which one of them is alive, and the line that shows it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[3]
FOLDER: Final = Path(__file__).parent
SURVIVES: Final = "nothing: "
"""How the line of a bug begins that nothing shows; the reason follows."""
EXPLORES: Final = "explore "
FOUND: Final = 3
"""Exit code of `python -m museum.replay`: a plan fails."""

_PRODUCT: Final = ("apis", "client", "controller", "handloop", "informers", "workqueue")
_FAILED: Final = 1
_SECONDS: Final = 300


class Exhibit(NamedTuple):
    """
    One seeded bug.

    Fields: name = `room/name`; patch, the file; source, where the bug was seen; line, what shows it: `explore
    WORKLOAD PLAN` of museum.replay, or the id of a test; or why nothing does.
    """

    name: str
    patch: Path
    title: str
    source: str
    line: str


def all_exhibits() -> list[Exhibit]:
    """In the order of their names."""
    return [_read(path) for path in sorted(FOLDER.glob("*/*.patch"))]


def _read(path: Path) -> Exhibit:
    title, source, line, _ = path.read_text(encoding="utf-8").split("\n", 3)
    name = f"{path.parent.name}/{path.stem}"
    values = (_value(line, key) for line, key in ((title, "title"), (source, "from"), (line, "shown by")))
    return Exhibit(name, path, *values)


def _value(line: str, key: str) -> str:
    found, colon, value = line.partition(": ")
    if (found, colon) != (key, ": ") or not value:
        raise ValueError(f"{line!r} should begin with {key!r}")
    return value


def plant(exhibit: Exhibit, tree: Path) -> None:
    """Make a tree in which the bug is alive: the product copied and patched, the rest linked."""
    tree.mkdir()
    for path in ROOT.iterdir():
        if path.name in _PRODUCT:
            shutil.copytree(path, tree / path.name, symlinks=True)
        elif not path.name.startswith("."):
            (tree / path.name).symlink_to(path)
    subprocess.run(["git", "apply", str(exhibit.patch)], cwd=tree, check=True)


def is_shown(lines: list[str], tree: Path) -> tuple[bool, str]:
    """
    Run lines, all explorations or all tests.

    Returns: whether one fails, and the output. Raises: AssertionError when they do not run.
    """
    if lines[0].startswith(EXPLORES):
        words, shown = ["museum.replay", *(line.removeprefix(EXPLORES) for line in lines)], FOUND
    else:
        words, shown = (
            ["pytest", "-q", "-n0", "-p", "no:cacheprovider", "--timeout=60", "-x", *lines],
            _FAILED,
        )
    paths = os.pathsep.join(
        str(tree / name) for name in (".", "tests", "sandbox", "explore", "explore/tests")
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    ended = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=tree,
        env=kept | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS,
    )
    output = ended.stdout + ended.stderr
    assert ended.returncode in (0, shown), output
    return ended.returncode == shown, output
