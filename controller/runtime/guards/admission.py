"""Decide whether a worker may reconcile a name. Unless replicas divide the work, every name is admitted."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Final, Protocol, TypeAlias

from handloop.controller.runtime.guards.name_memory import Chosen, NameMemory
from handloop.controller.runtime.reconcile import WaitError
from handloop.informers.keys import ObjectName
from handloop.informers.lister import NamespaceNotWatched

Admitted: TypeAlias = Callable[[ObjectName], AbstractContextManager[None]]
"""
Returns the context manager in which a worker reconciles a name. Entering it raises NotYetAdmittedError if the
worker must retry later or when the name is woken, and NotAdmittedError if the worker must drop the name.
"""

_ADMITTED: Final = nullcontext()


class NotAdmittedError(NamespaceNotWatched):
    """Another process reconciles the name, or this process is about to hand it over."""


class NotYetAdmittedError(WaitError):
    """The name belongs to this process, but its objects are not all in the caches yet."""


class ShareWorker(Protocol):
    """
    A controller whose share of the names changes.

    Threads: the threads that divide the work between replicas call the methods.
    """

    memory: NameMemory

    def wake(self, name: ObjectName) -> None:
        """Queue a name that was not admitted, so that a worker checks it again."""

    def share_grew(self, names: Chosen) -> None:
        """Queue each cached name that is new in the share, because no watch event will arrive for it."""

    def share_shrank(self) -> None:
        """Clean up after names have been removed from this process's share and from its caches."""


def admit_all(_name: ObjectName) -> AbstractContextManager[None]:
    """Admit every name. Processes that do not divide the work with others use this function."""
    return _ADMITTED
