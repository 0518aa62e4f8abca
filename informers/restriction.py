"""
Restrictions, which decide which of a kind's objects an informer may store at each moment.

The reflector, informer, intake and readers query their Restriction, and do not depend on how it decides.
Each version of a restriction allows a different set of objects. `Whole` allows every object.
handloop.informers.sharding contains the restriction for replicas that share a kind.
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
    """A component that reacts to changes of a restriction, such as a Reflector."""

    def restriction_changed(self) -> None:
        """
        React to a change of the set of allowed objects.

        This method is called after the change, on the thread that made it, and must not block.
        """


class Restriction(Protocol[T]):
    """
    The restriction of one informer.

    If the restriction changes to allow more objects, a new list is needed. If it allows fewer, objects that
    are no longer allowed leave the store without a handler call.

    Field: restricts is False for a Whole.
    Threads: used by the reflector's thread. Any thread can use narrowed_by, has_listed, is_empty, must_list,
    wake, and the methods for readers.
    """

    restricts: bool

    @property
    def source(self) -> ListerWatcher[T]:
        """Return the source that lists and watches the allowed objects."""

    @property
    def narrowed_by(self) -> str:
        """Return what excludes the disallowed objects; "" if all are allowed, or if that is not known yet."""

    # for the informer

    def new_fifo(
        self,
        known_objects: KnownObjects[T],
        transformer: Callable[[T], T] | None,
        *,
        name: str,
        clock: Clock,
    ) -> DeltaFIFO[T]:
        """Return the FIFO for a reflector and its informer. The informer calls this once."""

    def cache(self, store: Cache[T]) -> Cache[T]:
        """Return the store for listers. It can refuse a read of objects that are not allowed."""

    def follow(self, restricted: Restricted) -> None:
        """Notify restricted of each change from now on. The informer calls this after new_fifo."""

    def leave(self) -> None:
        """Report no more changes."""

    def has_listed(self, version: int) -> bool:
        """Return whether all objects that the given version allowed have been listed and processed."""

    # for the reflector

    @property
    def is_empty(self) -> bool:
        """Return whether no objects are allowed, so that requests must not be sent."""

    @property
    def must_list(self) -> bool:
        """Return whether no objects are allowed, or the last list did not request all allowed objects."""

    @property
    def is_wide(self) -> bool:
        """Return True if the open watch delivers disallowed objects that a new watch would exclude."""

    def before_list(self, stopped: threading.Event) -> bool:
        """
        Make the next list request the objects that are allowed now.

        Returns: False if stopped is set, or if no objects are allowed.
        Blocks: for a moment, so that changes in quick succession need only one list.
        """

    def wait(self, stopped: threading.Event) -> None:
        """Wait until objects are allowed, or until wake is called after stopped was set."""

    def wake(self) -> None:
        """End a wait, because the reflector was stopped or the restriction has changed."""

    def forget_foreign(self, quarantine: Quarantine) -> None:
        """Remove the objects that are not allowed from a quarantine."""

    # for readers, from any thread

    @property
    def now(self) -> object:
        """An object that stands for the current restriction. Each change replaces it with a new one."""

    def version_of(self, namespace: str) -> int | None:
        """Return the version that allowed a namespace: 0 if it always was, None if it is not allowed now."""

    def holds(self, obj: Kind) -> bool:
        """Return whether an object is allowed now."""

    def would_hold(self, obj: Mapping[str, Any]) -> bool:
        """Return whether an object is allowed now. obj is its decoded JSON."""


class Whole(Generic[T]):
    """Allows every object. Implements Restriction."""

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
        """See Restriction. restricted is never notified, because the set of allowed objects never changes."""

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
    """Creates the restrictions of a manager's informers."""

    def restrict(
        self, kind: type[T], source: ListerWatcher[T], /, *, metrics: InformerMetrics, name: str, clock: Clock
    ) -> Restriction[T]:
        """
        Return the restriction of a new informer.

        Args: source lists and watches all objects; name is the informer's name.
        """


class Unrestricted:
    """Implements Restrictions for a program that restricts no kind."""

    def restrict(self, _kind: type[T], source: ListerWatcher[T], /, **_facts: Any) -> Restriction[T]:
        """See Restrictions."""
        return Whole(source)
