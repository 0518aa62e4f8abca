"""
Report, for the log and /readyz, who leaves out the objects of other slots: the server or this replica.

Each informer finds this out from the objects that arrive. This module summarizes that in words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from handloop.controller.runtime.caching.multi_namespace_informer import failing
from handloop.informers.sharding.held_slots import HeldSlots
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.seams.logs import get_logger

log = get_logger("shards")

_SELECTORS: Final = {"server": "shardSelector", "fields": "field selector", "labels": "label selector"}
"""The parameter that makes the server leave out objects, by the words of SlotRestriction.narrowed_by."""
_DROPPED: Final = "client"
_UNKNOWN: Final = "unknown"


class Narrowing:
    """
    The answer for all informers of a process.

    State: _reported, what was logged last, which only the thread `shards` uses. Threads: any thread may ask.
    """

    def __init__(self, held: HeldSlots, informers: Callable[[], Sequence[SharedIndexInformer[Any]]]) -> None:
        """Args: informers returns all informers of the process."""
        self._held = held
        self._informers = informers
        self._reported: Mapping[str, list[str]] = {}

    def words(self) -> str:
        """Return words such as "objects of other slots: left out by the server"; "" until there are lists."""
        found = self._found()
        if not found:
            return ""
        who = "left out by the server"
        if unknown := found.get(_UNKNOWN):
            who = f"not known yet whether the server leaves them out: {', '.join(unknown)}"
        if dropped := found.get(_DROPPED):
            who = f"dropped here: {', '.join(dropped)}"
        return f"objects of other slots: {who}"

    def report(self) -> None:
        """Once the first lists are complete, log in one line what is new since the last call."""
        found = self._found()
        if not found or found == self._reported:
            return
        self._reported = found
        left_out = [f"{' '.join(found[by])} ({name})" for by, name in _SELECTORS.items() if by in found]
        names = {"not_known": found.get(_UNKNOWN, []), "whole": found.get("", [])}
        facts = {"left_out": ", ".join(left_out), **{key: " ".join(names[key]) for key in names}}
        facts = {name: value for name, value in facts.items() if value}
        if dropped := found.get(_DROPPED):
            text = "The server sends objects of other slots: they are dropped here"
            log.info(text, dropped=" ".join(dropped), **facts)
        elif _UNKNOWN in found:
            log.info("Too few objects to know whether the server leaves out those of other slots", **facts)
        else:
            log.info("The server leaves out objects of other slots", **facts)

    def _found(self) -> dict[str, list[str]]:
        """
        Group the informers' names by the result of Restriction.narrowed_by; "" means whole.

        Return {} while nothing can be known, or a first list is in progress. An informer in trouble is left
        out.
        """
        if not 0 < len(self._held.slots) < self._held.count:
            return {}
        found = defaultdict(list)
        for informer in self._informers():
            by = informer.restriction.narrowed_by
            if by or not informer.restriction.restricts:
                found[by].append(informer.name)
            elif not failing(informer):
                return {}
        return {by: sorted(names) for by, names in found.items()} if any(found) else {}
