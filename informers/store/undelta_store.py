"""
A store that hands on its whole contents after every change, for consumers that want states, not events.

Follows: client-go tools/cache/undelta_store.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from handloop.informers.keys import (
    DeletedFinalStateUnknown,
    KeyFunc,
    deletion_handling_meta_namespace_key_func,
)
from handloop.informers.store.indexer import Indexer, Operation

T = TypeVar("T")


class UndeltaStore(Indexer[T]):
    """
    An Indexer that calls push with a list of all objects after each write that succeeded.

    push runs in the writer's thread, without a lock: with several writers an older list may be pushed last.
    """

    def __init__(
        self,
        push: Callable[[list[T]], None],
        *,
        key_func: KeyFunc = deletion_handling_meta_namespace_key_func,
    ) -> None:
        super().__init__(key_func=key_func)
        self._push = push

    def add(self, obj: T) -> None:
        """Put obj in and push."""
        super().add(obj)
        self._push(self.list())

    def delete(self, obj: T | DeletedFinalStateUnknown[T]) -> None:
        """Take obj out and push, whether or not it was there."""
        super().delete(obj)
        self._push(self.list())

    def replace(self, objects: Iterable[T], resource_version: str) -> None:
        """Hold exactly objects and push."""
        super().replace(objects, resource_version)
        self._push(self.list())

    def apply(self, operations: Sequence[Operation[T]]) -> list[T | None]:
        """Apply operations and push once, also when some failed."""
        try:
            return super().apply(operations)
        finally:
            self._push(self.list())
