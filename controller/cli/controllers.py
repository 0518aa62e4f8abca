"""The controllers of this program, by the names that `--controllers` takes."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from handloop.apis.meta import Kind
from handloop.controller.foo.access import FOO_ACCESS
from handloop.controller.foo.runnable import add_foo
from handloop.controller.foo.types import Foo
from handloop.controller.myapp.access import MYAPP_ACCESS
from handloop.controller.myapp.reconciler import add_myapp
from handloop.controller.myapp.types import MyApp
from handloop.controller.runtime.access import Access, merged
from handloop.controller.runtime.manager import Manager

ALL: Final = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """
    How one controller comes into a manager, and what it needs of a cluster.

    Args: add gets the manager and the number of workers. kind is the one it is about, which needs a CRD;
    sample is a manifest with one of it.
    """

    name: str
    kind: type[Kind]
    access: tuple[Access, ...]
    sample: str
    add: Callable[[Manager, int], object]


CONTROLLERS: Final[Mapping[str, Setup]] = {
    setup.name: setup
    for setup in (
        Setup(
            name="foo",
            kind=Foo,
            access=FOO_ACCESS,
            sample="manifests/samples/foo.yaml",
            add=lambda manager, workers: add_foo(manager, workers=workers),
        ),
        Setup(
            name="myapp",
            kind=MyApp,
            access=MYAPP_ACCESS,
            sample="manifests/samples/myapp.yaml",
            add=lambda manager, workers: add_myapp(manager, workers=workers),
        ),
    )
}
NAMES: Final = tuple(CONTROLLERS)


def controller_names(text: str) -> tuple[str, ...]:
    """
    A list such as `foo,myapp`, or `*` for all, in the order of the registry.

    Raises: ValueError for a name that there is not, with the one that was probably meant.
    """
    wanted = [name.strip() for name in text.split(",") if name.strip()]
    for name in wanted:
        if name != ALL and name not in CONTROLLERS:
            near = difflib.get_close_matches(name, NAMES, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; have: {', '.join(NAMES)}"
            raise ValueError(f'unknown controller "{name}"{hint}')
    if not wanted:
        raise ValueError(f"at least 1 controller is needed; have: {', '.join(NAMES)}")
    return NAMES if ALL in wanted else tuple(name for name in NAMES if name in wanted)


def setups(names: Sequence[str]) -> tuple[Setup, ...]:
    """The chosen ones."""
    return tuple(CONTROLLERS[name] for name in names)


def kinds(names: Sequence[str]) -> tuple[type[Kind], ...]:
    """The kinds that need a CRD."""
    return tuple(setup.kind for setup in setups(names))


def access(names: Sequence[str]) -> tuple[Access, ...]:
    """What the chosen ones ask of the API server together."""
    return merged(entry for setup in setups(names) for entry in setup.access)
