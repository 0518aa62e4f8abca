"""
The namespaces that the server has sent, for kinds that are sharded by namespace.

A server narrows every list and watch by namespace: `metadata.namespace!=a,metadata.namespace!=b`. Objects of
a namespace that is not known yet are sent, and the informer drops them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Final

from handloop.apis.grammar.fields import NAMESPACE, FieldTerm
from handloop.apis.grammar.shard_selector import slot_of_namespace
from handloop.seams.locks import new_lock

SELECTOR_BYTES: Final = 4096
"""The length limit of the field selector for foreign namespaces. Every proxy must accept the request line."""
# This is far more than a selector can name. If namespaces come and go, the oldest are dropped.
_REMEMBERED: Final = 10_000


class KnownNamespaces:
    """
    The slot of each namespace seen, and how many of its objects were dropped.

    Only namespaces from the server are remembered, not those in lookups, which can be any string from a user.

    State: _slots, oldest first, changed under _lock (98) and read without it. _dropped: counts of dropped
    objects, which can miss one if two threads count simultaneously. are_too_many: whether there were too many
    foreign namespaces for the last selector to name.
    Threads: usable from any thread.
    """

    def __init__(self, count: int) -> None:
        """Start without any namespaces; count is the number of slots."""
        self._count = count
        self._lock = new_lock("KnownNamespaces._lock", 98)
        self._slots: dict[str, int] = {}
        self._dropped: dict[str, int] = {}
        self.are_too_many = False

    def __len__(self) -> int:
        return len(self._slots)

    def slot_of(self, namespace: str) -> int:
        """Return the slot of any string, as if it were a namespace, without remembering it."""
        slot = self._slots.get(namespace)
        return slot_of_namespace(namespace, self._count) if slot is None else slot

    def meet(self, namespace: str) -> int:
        """Return the slot of a namespace that the server has sent, and remember the namespace."""
        slot = self._slots.get(namespace)
        return self._remember(namespace) if slot is None else slot

    def learn(self, namespaces: Iterable[str]) -> None:
        """Remember namespaces from the server before their objects arrive."""
        for namespace in namespaces:
            self.meet(namespace)

    def dropped(self, namespace: str) -> None:
        """Count an object in a foreign namespace that arrived and was dropped."""
        self._dropped[namespace] = self._dropped.get(namespace, 0) + 1

    def excluding(self, slots: Container[int]) -> str:
        """
        Return the field selector that leaves out the known namespaces in all other slots; "" for no selector.

        It has at most SELECTOR_BYTES. The namespaces with the most dropped objects come first.
        """
        dropped = self._dropped
        foreign = [namespace for namespace, slot in tuple(self._slots.items()) if slot not in slots]
        foreign.sort(key=lambda namespace: (-dropped.get(namespace, 0), namespace))
        terms: list[str] = []
        left = SELECTOR_BYTES
        for namespace in foreign:
            term = str(FieldTerm(NAMESPACE, equal=False, value=namespace))
            left -= len(term) + 1
            if left < 0:
                break
            terms.append(term)
        self.are_too_many = left < 0
        return ",".join(terms)

    def _remember(self, namespace: str) -> int:
        slot = slot_of_namespace(namespace, self._count)
        with self._lock:
            self._slots[namespace] = slot
            if len(self._slots) > _REMEMBERED:
                oldest = next(iter(self._slots))
                del self._slots[oldest]
                self._dropped.pop(oldest, None)
        return slot
