"""
Update the lock files, which pin dependencies with hashes: `make lock`, in an environment with pip-tools.

    python -m tools.locks [--upgrade]

A lock file includes a lower one through `-r` in its first lines, and pins only the packages that the lower
one lacks. A package and its hashes are one line, so a diff shows one line per changed package. Without
--upgrade, existing pins stay unchanged, and only missing packages are added.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
NEIGHBOURS: Final = ("sandbox", "explore", "learn")
"""This repository's other projects. Each name is both a folder and the extra that installs the project."""
STACK: Final = {
    "requirements/program.lock": ("tls",),
    "sandbox/requirements.lock": ("sandbox", "tls"),
    "explore/requirements.lock": ("sandbox", "explore", "tls"),
    "learn/requirements.lock": ("sandbox", "explore", "learn", "tls"),
    "requirements/dev.lock": ("sandbox", "explore", "learn", "tls", "otel", "dev"),
}
"""The lock files from the lowest to the highest, with the extras that each covers."""
_COMPILE: Final = (
    str(Path(sys.executable).with_name("pip-compile")),
    *("--quiet", "--generate-hashes", "--allow-unsafe", "--strip-extras", "--no-annotate"),
    *("--no-header", "--no-emit-index-url", "--no-emit-trusted-host", "--no-emit-find-links"),
)
_PIN: Final = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>\S+).*\n", re.MULTILINE)
_NEXT_LINE: Final = re.compile(r" *\\\n *")
"""The line breaks within a package's entry: pip-compile writes each hash on its own line."""


def main() -> None:
    """Rewrite every lock file."""
    lower: list[Path] = []
    for name, extras in STACK.items():
        _pin(ROOT / name, needs(extras), lower, lower)
        lower.append(ROOT / name)
    _pin(ROOT / "benchmarks/requirements.lock", ["lightkube", "kopf", "matplotlib"], lower[:1], lower[:1])
    _pin(ROOT / "sandbox/alone.lock", needs(("tls",), folders=("sandbox",)), lower, [])
    _pin(ROOT / "tools/uv.lock", ["uv"], [], [])
    _pin(ROOT / "tools/setuptools.lock", ["setuptools"], lower, [])


def needs(extras: tuple[str, ...], *, folders: Sequence[str] | None = None) -> list[str]:
    """Return what the program and these extras require, or only what the projects in these folders do."""
    found = []
    for folder in folders or (".", *(name for name in NEIGHBOURS if name in extras)):
        project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        found += project["dependencies"]
        optional = project.get("optional-dependencies", {})
        found += [each for extra in extras for each in optional.get(extra, ())]
    return sorted({each for each in found if not each.startswith("handloop")})


def layer(text: str, lock: Path, lower: list[Path]) -> str:
    """
    Return a lock file's text without the packages that lower files pin, and with a line that includes them.

    Args: lower lists lock files from the lowest up. Raises: ValueError for a package that a lower file pins
    in another version.
    """
    below = {pin["name"]: pin["version"] for path in lower for pin in _pins(path)}
    pins = list(_PIN.finditer(_NEXT_LINE.sub(" ", text)))
    if other := [pin["name"] for pin in pins if below.get(pin["name"], pin["version"]) != pin["version"]]:
        raise ValueError(f"{lock} pins other versions than the files that it includes: {', '.join(other)}")
    base = f"-r {os.path.relpath(lower[-1], lock.parent)}\n" if lower else ""
    return f"# made by `make lock`\n{base}" + "".join(pin[0] for pin in pins if pin["name"] not in below)


def _pins(lock: Path) -> Iterator[re.Match[str]]:
    return _PIN.finditer(lock.read_text(encoding="utf-8"))


def _pin(lock: Path, needed: list[str], known: list[Path], lower: list[Path]) -> None:
    """Write one lock file. Args: known are the files whose versions apply; lower are the files to include."""
    with tempfile.TemporaryDirectory() as folder:
        whole, constraints = Path(folder, "whole.lock"), Path(folder, "constraints")
        versions = [f"{pin['name']}=={pin['version']}\n" for path in known for pin in _pins(path)]
        constraints.write_text("".join(versions), encoding="utf-8")
        # existing pins keep their versions unless --upgrade is given
        whole.write_text("".join(pin[0] for path in [*lower, lock] for pin in _pins(path)), encoding="utf-8")
        command = [*_COMPILE, *sys.argv[1:], f"--constraint={constraints}", f"--output-file={whole}", "-"]
        subprocess.run(command, input="\n".join(needed), text=True, check=True)  # noqa: S603 - pip-tools
        lock.write_text(layer(whole.read_text(encoding="utf-8"), lock, lower), encoding="utf-8")


if __name__ == "__main__":
    main()
