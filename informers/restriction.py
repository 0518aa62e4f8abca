"""
Which of its kind's objects an informer may hold at each moment: all, or those that a Restriction allows.

Reflector, informer, intake and readers ask their Restriction, and do not know how it restricts. Each of its
versions stands for a different set of objects. `Whole` is for an informer without a restriction;
handloop.informers.sharding has the restriction for replicas that share a kind.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar

from handloop.apis.meta import Kind
from handloop.informers.delta_fifo import DeltaFIFO, KnownObjects
from handloop.informers.informer_metrics import InformerMetrics
from handloop.informers.lister import Cache
from handloop.informers.listwatch import ListerWatcher
from handloop.informers.quarantine import Quarantine
from handloop.seams.clock import Clock

T = TypeVar("T", bound=Kind)


class Restricted(Protocol):
    """An object that follows a restriction, such as a Reflector."""

    def restriction_changed(self) -> None:
        """
        Called after the set of objects that may be held has changed, on the thread that changed it.

        It must not block.
        """


class Restriction(Protocol[T]):
    """
    The restriction of one informer. If more may be held, a new list is due; if less, objects leave silently.

    Field: restricts is False for a Whole.
    Threads: used by the reflector's thread, unless noted otherwise.
    """

    restricts: bool

    @property
    def source(self) -> ListerWatcher[T]:
        """Return the source that lists and watches what may be held."""

    @property
    def narrowed_by(self) -> str:
        """Return what keeps other objects away; "" if nothing has to, or it is not known yet. Any thread."""

    # for the informer

    def new_fifo(
        self,
        known_objects: KnownObjects[T],
        transformer: Callable[[T], T] | None,
        *,
        name: str,
        clock: Clock,
    ) -> DeltaFIFO[T]:
        """Return the FIFO for a reflector and its informer. This is called once."""

    def cache(self, store: Cache[T]) -> Cache[T]:
        """Return the store for listers, which refuse to answer for what may not be held."""

    def follow(self, restricted: Restricted) -> None:
        """Report each change from now on. This is called after new_fifo."""

    def leave(self) -> None:
        """Report no more changes."""

    def has_listed(self, version: int) -> bool:
        """Return whether the consumer has listed all that may be held since that version. Any thread."""

    # for the reflector

    @property
    def is_empty(self) -> bool:
        """Return whether nothing may be held, so no request must be sent to the server. Any thread."""

    @property
    def must_list(self) -> bool:
        """Return whether nothing, or more than the last list requested, may be held. Any thread."""

    @property
    def is_wide(self) -> bool:
        """Return whether a new watch would bring less than the open one."""

    def before_list(self, stopped: threading.Event) -> bool:
        """
        Make the next list request what may be held now.

        Returns: False if stopped, or if nothing may be held any more. Blocks: for a moment.
        """

    def wait(self, stopped: threading.Event) -> None:
        """Wait until something may be held, or stopped is set and wake was called."""

    def wake(self) -> None:
        """End wait, because the reflector is stopped or may hold something else. Any thread."""

    def forget_foreign(self, quarantine: Quarantine) -> None:
        """Let a quarantine forget what may not be held."""

    # for readers, from any thread

    @property
    def now(self) -> object:
        """The set of objects that may be held now. Each change creates a new instance."""

    def version_of(self, namespace: str) -> int | None:
        """Return since which version a namespace may be held: 0 for always or in any, None for not now."""

    def holds(self, obj: Kind) -> bool:
        """Return whether an object may be held now."""

    def would_hold(self, obj: Mapping[str, Any]) -> bool:
        """Return whether an object that is given as JSON may be held now."""


class Whole(Generic[T]):
    """No restriction. Implements Restriction."""

    restricts = False
    narrowed_by = ""
    is_empty = must_list = is_wide = False
    now: object = None

    def __init__(self, source: ListerWatcher[T]) -> None:
        self.source = source

    def new_fifo(
        self,
        known_objects: KnownObjects[T],
        transformer: Callable[[T], T] | None,
        *,
        name: str,
        clock: Clock,
    ) -> DeltaFIFO[T]:
        """See Restriction."""
        return DeltaFIFO(known_objects, transformer=transformer, name=name, clock=clock)

    def cache(self, store: Cache[T]) -> Cache[T]:
        """See Restriction."""
        return store

    def follow(self, restricted: Restricted) -> None:
        """See Restriction: nothing ever changes."""

    def leave(self) -> None:
        """See Restriction."""

    def has_listed(self, _version: int) -> bool:
        """See Restriction. One complete list contains everything."""
        return True

    def before_list(self, _stopped: threading.Event) -> bool:
        """See Restriction."""
        return True

    def wait(self, _stopped: threading.Event) -> None:
        """See Restriction."""

    def wake(self) -> None:
        """See Restriction."""

    def forget_foreign(self, quarantine: Quarantine) -> None:
        """See Restriction."""

    def version_of(self, _namespace: str) -> int | None:
        """See Restriction."""
        return 0

    def holds(self, _obj: Kind) -> bool:
        """See Restriction."""
        return True

    def would_hold(self, _obj: Mapping[str, Any]) -> bool:
        """See Restriction."""
        return True


class Restrictions(Protocol):
    """Which objects of each kind a manager's informers may hold."""

    def restrict(
        self, kind: type[T], source: ListerWatcher[T], /, *, metrics: InformerMetrics, name: str, clock: Clock
    ) -> Restriction[T]:
        """Return the restriction of a new informer. Args: source has all objects; name is the informer's."""


class Unrestricted:
    """Implements Restrictions for a program in which every kind is whole."""

    def restrict(self, _kind: type[T], source: ListerWatcher[T], /, **_facts: Any) -> Restriction[T]:
        """See Restrictions."""
        return Whole(source)
