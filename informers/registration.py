"""
The handle of a handler that was added to an informer.

Follows: client-go tools/cache/shared_informer.go @32ce75a7d (ResourceEventHandlerRegistration).
"""

from __future__ import annotations

from typing import Generic, TypeVar

from handloop.apis.meta import Kind
from handloop.informers.processor import ProcessorListener

T = TypeVar("T", bound=Kind)


class Registration(Generic[T]):
    """The handle of a handler that was added."""

    def __init__(self, listener: ProcessorListener[T]) -> None:
        self._listener = listener

    def has_synced(self) -> bool:
        """
        Whether the informer has synced and this handler has returned from every add of the initial list.

        The informer's own has_synced says less: that the store is filled.
        """
        return self._listener.has_synced()

    @property
    def listener(self) -> ProcessorListener[T]:
        """The listener; for the informer."""
        return self._listener
