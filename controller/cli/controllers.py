"""The controllers of this program: how each comes into a manager, and what it needs of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from handloop.apis.meta import Kind
from handloop.controller.foo.access import FOO_ACCESS
from handloop.controller.foo.types import Foo
from handloop.controller.myapp.access import MYAPP_ACCESS
from handloop.controller.myapp.types import MyApp
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.rbac.access import Access, merged


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


def _add_foo(manager: Manager, workers: int) -> object:
    # printing manifests takes the types alone
    from handloop.controller.foo.runnable import add_foo  # noqa: PLC0415

    return add_foo(manager, workers=workers)


def _add_myapp(manager: Manager, workers: int) -> object:
    from handloop.controller.myapp.reconciler import add_myapp  # noqa: PLC0415

    return add_myapp(manager, workers=workers)


CONTROLLERS: Final[Mapping[str, Setup]] = {
    setup.name: setup
    for setup in (
        Setup(
            name="foo",
            kind=Foo,
            access=FOO_ACCESS,
            sample="manifests/samples/foo.yaml",
            add=_add_foo,
        ),
        Setup(
            name="myapp",
            kind=MyApp,
            access=MYAPP_ACCESS,
            sample="manifests/samples/myapp.yaml",
            add=_add_myapp,
        ),
    )
}


def setups(names: Sequence[str]) -> tuple[Setup, ...]:
    """The chosen ones."""
    return tuple(CONTROLLERS[name] for name in names)


def kinds(names: Sequence[str]) -> tuple[type[Kind], ...]:
    """The kinds that need a CRD."""
    return tuple(setup.kind for setup in setups(names))


def access(names: Sequence[str]) -> tuple[Access, ...]:
    """What the chosen ones ask of the API server together."""
    return merged(entry for setup in setups(names) for entry in setup.access)
