"""
What one controller remembers of names from one reconcile to the next, and forgets when they leave.

With slots, another replica works on them meanwhile. So nothing old counts when they come back: no
back-off, no floor, no fields that were applied. Whatever a controller keeps by name registers here when it
is made:

    queue             names that wait, back off, are scheduled, or have failed for good
    own writes        the floors that a cache has to reach, and the paces of names that are written often
    applied fields    what was applied last to each child
    owners            those whose children have disappeared
    decisions         what was decided lately, to be asked for
    pauses            names that an annotation keeps from being reconciled
    refusals, faults  what was reported about a name, and how often it was reconciled in vain

What is compared with the object itself, such as a status by the UID, needs no place here. The caches forget
on their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias, TypeVar

from handloop.informers.keys import ObjectName

Chosen: TypeAlias = Callable[[ObjectName], bool]
"""Whether a name is one of those that are meant."""


class Remembering(Protocol):
    """Something that is kept by name."""

    def forget_names(self, gone: Chosen) -> None:
        """Forget the names that are gone. Workers may have other names; gone may take a lock."""


R = TypeVar("R", bound=Remembering)


class NameMemory:
    """
    The parts of one controller.

    A controller that is made when its manager runs registers its parts while slots come and go: a part that
    comes late has nothing yet to forget. Threads: one registers; those of the slots let it forget.
    """

    def __init__(self) -> None:
        self._parts: list[Remembering] = []

    def keep(self, part: R) -> R:
        """Let a part forget with the others. Returns: the part."""
        self._parts.append(part)
        return part

    def forget_names(self, gone: Chosen) -> None:
        """Forget the names that are gone, in each part."""
        for part in tuple(self._parts):
            part.forget_names(gone)
