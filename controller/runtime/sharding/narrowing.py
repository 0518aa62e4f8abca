"""
Report in the log and in /readyz whether the server sends us the objects of other slots or leaves them out.

If the server sends them, this replica drops them. Each informer finds out which is the case from the objects
that it receives. This module combines the informers' findings into one message.
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
"""SlotRestriction.narrowed_by -> the request parameter that makes the server leave out objects."""
_DROPPED: Final = "client"
_UNKNOWN: Final = "unknown"


class Narrowing:
    """
    Summarizes, for all informers of a process, whether the server sends the objects of other slots.

    State: _reported is the summary that was logged last.
    Threads: `shards` calls report; any thread can call words.
    """

    def __init__(self, held: HeldSlots, informers: Callable[[], Sequence[SharedIndexInformer[Any]]]) -> None:
        """Args: informers returns all informers of the process."""
        self._held = held
        self._informers = informers
        self._reported: Mapping[str, list[str]] = {}

    def words(self) -> str:
        """
        Return the summary in words, or "" before the first lists are complete.

        An example is "objects of other slots: left out by the server".
        """
        found = self._found()
        if not found:
            return ""
        who = "left out by the server"
        if unknown := found.get(_UNKNOWN):
            who = f"it is not known yet whether the server leaves them out: {', '.join(unknown)}"
        if dropped := found.get(_DROPPED):
            who = f"dropped here: {', '.join(dropped)}"
        return f"objects of other slots: {who}"

    def report(self) -> None:
        """Log the summary in one line if it has changed, once the first lists are complete."""
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
        Return the informers' names, grouped by Restriction.narrowed_by. The key "" is for unsharded kinds.

        Return {} while this replica holds no slots or all slots, or while a first list is in progress.
        Informers whose lists fail are not included.
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
