"""
Pin the dependencies again, with hashes: `make lock`, in an environment with pip-tools.

    python -m tools.locks [--upgrade]

A lock stands on another one and pins only what that one does not: `-r` in its first lines leads there.
A package with its hashes is one line, so a change of a lock shows one line for each package that changed.
Without --upgrade what is pinned stays as it is, and only new needs come in.
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
"""Projects of this repository: their folders, and the extras that bring them."""
STACK: Final = {
    "requirements/program.lock": ("tls",),
    "sandbox/requirements.lock": ("sandbox", "tls"),
    "explore/requirements.lock": ("sandbox", "explore", "tls"),
    "learn/requirements.lock": ("sandbox", "explore", "learn", "tls"),
    "requirements/dev.lock": ("sandbox", "explore", "learn", "tls", "otel", "dev"),
}
"""From the ground up, with the extras that each holds."""
_COMPILE: Final = (
    str(Path(sys.executable).with_name("pip-compile")),
    *("--quiet", "--generate-hashes", "--allow-unsafe", "--strip-extras", "--no-annotate"),
    *("--no-header", "--no-emit-index-url", "--no-emit-trusted-host", "--no-emit-find-links"),
)
_PIN: Final = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>\S+).*\n", re.MULTILINE)
_NEXT_LINE: Final = re.compile(r" *\\\n *")
"""pip-compile writes each hash on a line of its own."""


def main() -> None:
    """Rewrite every lock."""
    lower: list[Path] = []
    for name, extras in STACK.items():
        _pin(ROOT / name, needs(extras), lower, lower)
        lower.append(ROOT / name)
    _pin(ROOT / "benchmarks/requirements.lock", ["lightkube", "kopf", "matplotlib"], lower[:1], lower[:1])
    _pin(ROOT / "sandbox/alone.lock", needs(("tls",), folders=("sandbox",)), lower, [])
    _pin(ROOT / "tools/uv.lock", ["uv"], [], [])
    _pin(ROOT / "tools/setuptools.lock", ["setuptools"], lower, [])


def needs(extras: tuple[str, ...], *, folders: Sequence[str] | None = None) -> list[str]:
    """What our projects need of others: the program, and those extras; or projects in those folders alone."""
    found = []
    for folder in folders or (".", *(name for name in NEIGHBOURS if name in extras)):
        project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        found += project["dependencies"]
        optional = project.get("optional-dependencies", {})
        found += [each for extra in extras for each in optional.get(extra, ())]
    return sorted({each for each in found if not each.startswith("handloop")})


def layer(text: str, lock: Path, lower: list[Path]) -> str:
    """
    A lock's text without what lower ones pin, and with a line that leads there.

    Args: lower from the ground up. Raises: ValueError for a package that they pin in another version.
    """
    below = {pin["name"]: pin["version"] for path in lower for pin in _pins(path)}
    pins = list(_PIN.finditer(_NEXT_LINE.sub(" ", text)))
    if other := [pin["name"] for pin in pins if below.get(pin["name"], pin["version"]) != pin["version"]]:
        raise ValueError(f"{lock} has other versions than the locks below it: {', '.join(other)}")
    base = f"-r {os.path.relpath(lower[-1], lock.parent)}\n" if lower else ""
    return f"# made by `make lock`\n{base}" + "".join(pin[0] for pin in pins if pin["name"] not in below)


def _pins(lock: Path) -> Iterator[re.Match[str]]:
    return _PIN.finditer(lock.read_text(encoding="utf-8"))


def _pin(lock: Path, needed: list[str], known: list[Path], lower: list[Path]) -> None:
    """Write one lock. Args: known = locks whose versions hold here; lower = those that it stands on."""
    with tempfile.TemporaryDirectory() as folder:
        whole, constraints = Path(folder, "whole.lock"), Path(folder, "constraints")
        versions = [f"{pin['name']}=={pin['version']}\n" for path in known for pin in _pins(path)]
        constraints.write_text("".join(versions), encoding="utf-8")
        # what is there already keeps its version, unless --upgrade says otherwise
        whole.write_text("".join(pin[0] for path in [*lower, lock] for pin in _pins(path)), encoding="utf-8")
        command = [*_COMPILE, *sys.argv[1:], f"--constraint={constraints}", f"--output-file={whole}", "-"]
        subprocess.run(command, input="\n".join(needed), text=True, check=True)  # noqa: S603 - pip-tools
        lock.write_text(layer(whole.read_text(encoding="utf-8"), lock, lower), encoding="utf-8")


if __name__ == "__main__":
    main()
