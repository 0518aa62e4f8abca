"""
What one controller remembers about names between reconciles, and forgets when they leave.

When replicas divide the work, another one may have worked on a name in the meantime. So when the name
returns, nothing remembered is valid: no back-off, no floor, no applied fields. Every table that a controller
keeps by name is registered here when the table is created:

    queue             names that wait, back off, are scheduled, or have failed for good
    own writes        the floors that a cache has to reach, and the paces of names that are written often
    applied fields    what was applied last to each child
    owners            those whose children have disappeared
    decisions         recent decisions, for those who ask
    pauses            names that an annotation keeps from being reconciled
    refusals, faults  what was reported about a name, and how often it was reconciled without effect

A table whose entries are compared with the object itself, such as a status by UID, is not registered here.
The caches forget on their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias, TypeVar

from handloop.informers.keys import ObjectName

Chosen: TypeAlias = Callable[[ObjectName], bool]
"""Return whether a name is one of the given names."""


class Remembering(Protocol):
    """Something that stores data by name."""

    def forget_names(self, gone: Chosen) -> None:
        """Forget the names that are gone. Workers may be working on other names; gone may take a lock."""


R = TypeVar("R", bound=Remembering)


class NameMemory:
    """
    The parts of one controller.

    A controller that is created while its manager runs registers its parts while names come and go. A part
    that is added late has nothing to forget yet. Threads: one thread registers; those that divide the work
    call forget.
    """

    def __init__(self) -> None:
        self._parts: list[Remembering] = []

    def keep(self, part: R) -> R:
        """Make a part forget together with the others. Returns: the part."""
        self._parts.append(part)
        return part

    def forget_names(self, gone: Chosen) -> None:
        """Forget the names that are gone, in each part."""
        for part in tuple(self._parts):
            part.forget_names(gone)
