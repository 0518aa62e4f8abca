"""
What a typed delete handler gets: the object, or the tombstone, or both sides of neither.

Follows: client-go tools/cache (typed deleted object).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from handloop.apis.meta import Object
from handloop.informers.keys import DeletedFinalStateUnknown, ObjectName, meta_namespace_key_func

T = TypeVar("T", bound=Object)


@dataclass(frozen=True, slots=True)
class DeletedObject(Generic[T]):
    """
    A deletion: obj is the final or last known state, tombstone what is known when that was missed.

    Names come from the tombstone when there is one, and are never an error.
    """

    obj: T | None = None
    tombstone: DeletedFinalStateUnknown[T] | None = None

    @classmethod
    def of(cls, deleted: T | DeletedFinalStateUnknown[T]) -> DeletedObject[T]:
        """From what on_delete is called with."""
        if isinstance(deleted, DeletedFinalStateUnknown):
            return cls(deleted.obj, deleted)
        return cls(deleted)

    @property
    def key(self) -> str:
        """The store key; "" when nothing is known."""
        if self.tombstone is not None:
            return self.tombstone.key
        return "" if self.obj is None else meta_namespace_key_func(self.obj)

    @property
    def name(self) -> ObjectName:
        """Namespace and name: the key up to its first slash, and the rest, whatever that holds."""
        namespace, slash, name = self.key.partition("/")
        return ObjectName(namespace, name) if slash else ObjectName("", namespace)
