"""
Extensions: the commands and pages that exist only if their packages are installed.

Each extension is a module that is named by an entry point of the group `handloop_extensions`. The entry point
is declared by an installed distribution, or by a project of the checkout from which handloop runs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

from handloop.controller.cli.version import checkout

GROUP: Final = "handloop_extensions"
NEIGHBOURS: Final = {name: f"handloop_{name}" for name in ("sandbox", "explore", "learn")}
"""
The packages of the neighbouring projects, by folder.

Each folder is named like the extra that installs it.
"""


class _Extension(NamedTuple):
    title: str
    extra: str
    """The handloop extra that installs it."""
    needs: tuple[str, ...]
    """Modules from other projects that the same extra installs."""


_EXTENSIONS: Final = {
    "sandbox": _Extension("the sandbox", "sandbox", ("aiohttp", "re2")),
    "walkthrough": _Extension("walkthrough", "learn", ("handloop_sandbox", "aiohttp", "re2")),
    "top": _Extension("top", "learn", ("aiohttp", "rich")),
    "explore": _Extension("explore", "explore", ("handloop_sandbox", "aiohttp", "re2", "greenlet")),
    "live-page": _Extension("the live page", "learn", ("handloop_sandbox", "aiohttp", "aiohttp_sse")),
}


class NotInstalledError(Exception):
    """An extension is not installed. title is its name, and fix is the command that installs it."""

    def __init__(self, name: str) -> None:
        self.title = _EXTENSIONS[name].title
        self.fix = install_command(name)
        super().__init__(f"{self.title} is not installed: {self.fix}")


def install_command(name: str) -> str:
    """Return the command that installs an extension."""
    return f'pip install "handloop[{_EXTENSIONS[name].extra}]"'


def is_installed(name: str) -> bool:
    """Return whether an extension and its requirements are installed, without importing them."""
    package = _modules().get(name, "").rpartition(".")[0]
    try:
        return bool(package) and all(find_spec(each) for each in (package, *_EXTENSIONS[name].needs))
    except ModuleNotFoundError:  # the package that contains it is missing, too
        return False


def extension(name: str) -> Any:
    """Return the module of an extension. Raises: NotInstalledError if the extension is not installed."""
    module = _modules().get(name)
    if module is None:
        raise NotInstalledError(name)
    with needing(name):
        return import_module(module)


@contextmanager
def needing(name: str) -> Iterator[None]:
    """Raise NotInstalledError if the `with` block fails to import a library that the extension needs."""
    try:
        yield
    except ModuleNotFoundError as error:
        if not str(error.name).startswith((*NEIGHBOURS.values(), *_EXTENSIONS[name].needs)):
            raise
        raise NotInstalledError(name) from error


@cache
def _modules() -> Mapping[str, str]:
    """Return the installed extensions' modules. In a checkout, make the neighbouring projects importable."""
    root = Path(__file__).parents[3]
    if not checkout(root):
        from importlib.metadata import entry_points  # noqa: PLC0415 - it loads the parser of mails, too

        return {point.name: point.value for point in entry_points(group=GROUP)}
    found: dict[str, str] = {}
    for folder in NEIGHBOURS:
        if project := checkout(root / folder, f"handloop-{folder}"):
            found |= project["entry-points"][GROUP]
            if str(root / folder) not in sys.path:
                sys.path.append(str(root / folder))
    return found
