"""Decide whether a worker may work on a name. A process that does all the work admits every name."""

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
The block in which a worker works on a name. Entering it raises: NotYetAdmittedError, to retry when the name
is woken, or later; NotAdmittedError, to drop the name.
"""

_ADMITTED: Final = nullcontext()


class NotAdmittedError(NamespaceNotWatched):
    """Another process works on the name, or this process is about to hand it over."""


class NotYetAdmittedError(WaitError):
    """The name is ours, but the caches do not have all of its objects yet."""


class ShareWorker(Protocol):
    """A controller whose share of the work grows and shrinks. Threads: the ones that divide the work."""

    memory: NameMemory

    def wake(self, name: ObjectName) -> None:
        """Look again at a name that has not been admitted yet."""

    def share_grew(self, names: Chosen) -> None:
        """More names are ours. Queue those already in the caches: no watch event will come for them."""

    def share_shrank(self) -> None:
        """Some names are no longer ours, and have also left the caches."""


def admit_all(_name: ObjectName) -> AbstractContextManager[None]:
    """Return the admission for a process that does not share its work."""
    return _ADMITTED
