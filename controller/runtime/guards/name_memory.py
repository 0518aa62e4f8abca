"""
The data that a controller stores by name between reconciles, and drops when a name moves to another replica.

When replicas divide the work, a name can move to another replica and return later. By then, all data that was
stored for the name here is outdated, such as its back-off, expected writes and applied fields. A controller
therefore registers each table that it keeps by name:

    queue             names that wait, back off, are scheduled, or have failed permanently
    own writes        the writes that the caches must show first, and how often each name is written
    applied fields    the fields last applied to each child
    owners            owners whose children have disappeared
    decisions         recent decisions, for the explanations
    pauses            names that are not reconciled because of an annotation
    refusals, faults  the reports about each name, and how often it was reconciled without effect

Tables that compare each entry with the object itself, such as a table of statuses by UID, need not be
registered. The caches remove their own entries.
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
        """
        Forget the names for which gone is true, while workers may be using other names.

        Args: gone may acquire a lock.
        """


R = TypeVar("R", bound=Remembering)


class NameMemory:
    """
    The parts of one controller that store data by name.

    If a controller is created while its manager runs, names can leave this replica before all parts are
    registered. That is harmless, because a part that is not yet registered has stored no names.
    Threads: one thread registers the parts; the threads that divide the work call forget_names.
    """

    def __init__(self) -> None:
        self._parts: list[Remembering] = []

    def keep(self, part: R) -> R:
        """Register a part, so that forget_names reaches it. Returns: the part."""
        self._parts.append(part)
        return part

    def forget_names(self, gone: Chosen) -> None:
        """Make every part forget the names for which gone is true."""
        for part in tuple(self._parts):
            part.forget_names(gone)
