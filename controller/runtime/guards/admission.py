"""Decide whether a worker may work on a name. A process that has all the work admits every name."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Final, TypeAlias

from handloop.controller.runtime.reconcile import WaitError
from handloop.informers.keys import ObjectName
from handloop.informers.lister import NamespaceNotWatched

Admitted: TypeAlias = Callable[[ObjectName], AbstractContextManager[None]]
"""
The block in which a worker works on a name. Raises, once entered: NotYetAdmittedError, to retry when the name
is woken, or later; NotAdmittedError, to drop the name.
"""

_ADMITTED: Final = nullcontext()


class NotAdmittedError(NamespaceNotWatched):
    """Another process works on the name, or this one is about to hand it over."""


class NotYetAdmittedError(WaitError):
    """The name is ours, but the caches do not have all of its objects yet."""


def admit_all(_name: ObjectName) -> AbstractContextManager[None]:
    """Return the admission of a process that shares nothing."""
    return _ADMITTED
