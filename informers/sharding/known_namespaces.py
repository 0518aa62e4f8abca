"""
The namespaces that the server has sent, for kinds that are sharded by namespace.

The field selector of every list and watch excludes the known *foreign* namespaces, which are in slots of
other processes: `metadata.namespace!=a,metadata.namespace!=b`. The server still sends the objects in foreign
namespaces that are not known yet, and the informer drops these objects.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Final

from handloop.apis.grammar.fields import NAMESPACE, FieldTerm
from handloop.apis.grammar.shard_selector import slot_of_namespace
from handloop.seams.locks import new_lock

SELECTOR_BYTES: Final = 4096
"""The maximum length of the selector for foreign namespaces, so that every proxy accepts the request line."""
# This is far more than a selector can name. Beyond this number, the oldest namespaces are forgotten.
_REMEMBERED: Final = 10_000


class KnownNamespaces:
    """
    The slot of each namespace that the server has sent, and how many of its objects were dropped.

    A name that is only looked up is not remembered. Such a name can be any text that a user typed, and would
    waste space in the field selector.

    State: _slots, oldest first, is changed under _lock (98) and read without it. _dropped counts dropped
    objects, and may miss one if two threads count at the same time. are_too_many is True if the last
    selector could not list all known foreign namespaces.
    Threads: usable from any thread.
    """

    def __init__(self, count: int) -> None:
        """Start with no known namespaces. Args: count is the number of slots."""
        self._count = count
        self._lock = new_lock("KnownNamespaces._lock", 98)
        self._slots: dict[str, int] = {}
        self._dropped: dict[str, int] = {}
        self.are_too_many = False

    def __len__(self) -> int:
        return len(self._slots)

    def slot_of(self, namespace: str) -> int:
        """Return a namespace's slot, without remembering the namespace, because it might not exist."""
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
        """Record that an object was dropped because its namespace is foreign."""
        self._dropped[namespace] = self._dropped.get(namespace, 0) + 1

    def excluding(self, slots: Container[int]) -> str:
        """
        Return a field selector that excludes the known namespaces outside these slots; "" if there are none.

        If not all fit into SELECTOR_BYTES, the namespaces with the fewest dropped objects are left out.
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
