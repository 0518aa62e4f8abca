"""
`version`: prints the versions of an operator, of handloop, of Python and of the platform.

In a checkout, the version ends with a local version (PEP 440) that identifies the content. setup.py and
`handloop init` add one to the packages that they build. For this reason, two builds have the same version
only if they have the same content.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from handloop.controller.cli.operator import Operator

DISTRIBUTION: Final = "handloop"
_GIVEN: Final = "HANDLOOP_LOCAL_VERSION"
"""The variable that sets the local version, for a release or for an image build, which has no git."""
_NOT_SHIPPED: Final = ("__pycache__", "bundle", "charts")
"""Folders that a wheel does not contain: Python's compiled files, and generated manifests."""


def exact_version() -> str:
    """Return version(), with the local version in a checkout. Blocks: for about 50 ms in a checkout."""
    root = Path(__file__).parents[3]
    return version() + (local_version(root / DISTRIBUTION, root) if checkout(root) else "")


def local_version(package: Path, top: Path) -> str:
    """
    Return the local version that a build of a package adds to its version.

    It is `+g1a2b3c4d5e6f` for a commit, `+g1a2b3c4d5e6f.d5f0e9a1b` with uncommitted changes, and
    `+nogit.c5f0e9a1b` if git does not work. If the environment variable HANDLOOP_LOCAL_VERSION is set, its
    value is returned; a release sets it to "".

    Args: top is the root of the repository.
    """
    if (given := os.environ.get(_GIVEN)) is not None:
        return given
    try:
        commit = _git(top, "log", "-1", "--abbrev=12", "--format=%h")
        changed = _git(top, "--no-optional-locks", "status", "--porcelain")
    except (OSError, subprocess.SubprocessError):
        return f"+nogit.c{_content(package)}"
    return f"+g{commit}.d{_content(package)}" if changed else f"+g{commit}"


def _git(top: Path, *words: str) -> str:
    """
    Run git in the repository.

    Raises: SubprocessError if git fails; OSError if git is missing, or top is not the root of a repository.
    """
    (top / ".git").stat()
    # In a git hook, these variables name another repository.
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "-C", str(top), *words]
    ended = subprocess.run(command, env=variables, capture_output=True, text=True, check=True, timeout=30)  # noqa: S603
    return ended.stdout.strip()


def _content(package: Path) -> str:
    found = hashlib.sha256()
    for path, content in shipped_files(package):
        found.update(f"{path} {len(content)}\n".encode() + content)
    return found.hexdigest()[:8]


def shipped_files(package: Path) -> Iterator[tuple[str, bytes]]:
    """
    Yield the path and content of each file in a package's wheel, in a fixed order.

    In a checkout, the package's folders are symbolic links, which are followed.
    """
    for folder, folders, names in os.walk(package, followlinks=True):
        folders[:] = sorted(set(folders).difference(_NOT_SHIPPED))
        for path in (Path(folder, name) for name in sorted(names)):
            # An editor's lock file is a dangling link, which is not a file.
            if path.suffix != ".pyc" and path.is_file():
                yield str(path.relative_to(package.parent)), path.read_bytes()


def version() -> str:
    """Return the version of the installed handloop, or of its checkout, without a local version."""
    project = checkout(Path(__file__).parents[3])
    if project:
        return str(project["version"])
    from importlib import metadata  # noqa: PLC0415 - it loads the parser of mails, too

    return metadata.version(DISTRIBUTION)


def checkout(root: Path, distribution: str = DISTRIBUTION) -> Mapping[str, Any]:
    """Return the table [project] of one of our checkouts, or {} for other folders, such as site-packages."""
    try:
        text = (root / "pyproject.toml").read_text(encoding="utf-8")
        import tomllib  # noqa: PLC0415 - an image has no project file

        project: Mapping[str, Any] = tomllib.loads(text)["project"]
        return project if project["name"] == distribution else {}
    except (OSError, ValueError, LookupError, TypeError):
        return {}


def version_text(operator: Operator, output: str) -> str:
    """Return the versions of an operator, handloop, Python and the platform, as one line or as JSON."""
    facts = {operator.name: operator.version(), DISTRIBUTION: exact_version()}
    facts |= {"python": platform.python_version()}
    if output == "json":
        return json.dumps(facts | {"platform": platform.platform()})
    others = [f"{name} {text}" for name, text in facts.items() if name != operator.name]
    shown = " ".join(word for word in (operator.name, facts[operator.name]) if word)
    return f"{shown} ({', '.join(others)}, {platform.platform()})"
