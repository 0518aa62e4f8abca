"""
Turn watch events of a kind into names to reconcile.

    informer --> InformerSource: predicates --> names --> ReconcileQueue, with cause and priority

Names from the first list and from resyncs have a lower priority than those from watch events. Both states of
an update are mapped to names, so that an object's former owner is also reconciled. If a predicate raises an
error, the watch event is not dropped. If a map function raises an error for one of the two states, only the
names from that state are missing. A single unusual object therefore does not keep the controller from
starting.
Follows: controller-runtime pkg/handler, pkg/internal/source (Kind), differs: an owner must be in its cache;
errors of predicates and map functions are logged and counted, but do not stop anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, Generic, Protocol, TypeVar

from msgspec.structs import replace

from handloop.apis.meta import Kind, OwnerReference, controller_of
from handloop.client.decoding.pages import Undecodable
from handloop.controller.runtime.caching.multi_namespace_informer import MultiNamespaceInformer, Synced
from handloop.controller.runtime.events.recorder import (
    EVENT_TYPE_WARNING,
    EventRecorder,
    reference_to_undecodable,
)
from handloop.controller.runtime.sources.commands import Commands
from handloop.controller.runtime.sources.predicates import Predicate
from handloop.controller.runtime.sources.reconcile_queue import Cause
from handloop.informers.keys import (
    DeletedFinalStateUnknown,
    ObjectName,
    deletion_handling_object_to_name,
    final_state,
    object_name,
)
from handloop.seams.logs import get_logger, in_words
from handloop.seams.tracing import TRACING, SpanContext, annotated
from handloop.workqueue.priority_queue import DEFAULT_PRIORITY, LOW_PRIORITY

log = get_logger("source")

T = TypeVar("T", bound=Kind)

MapFunc = Callable[[T], Iterable[ObjectName]]
"""Returns the names to reconcile when an object changes. Can only read caches; runs on a listener thread."""

ADDED: Final = "added"
LISTED: Final = "listed"
UPDATED: Final = "updated"
DELETED: Final = "deleted"
RESYNCED: Final = "resynced"
INVALID_OBJECT: Final = "InvalidObject"
NOT_INDEXED: Final = "NotIndexed"


class Sink(Protocol):
    """Receives the names to reconcile; ReconcileQueue implements it."""

    def add(
        self, name: ObjectName, cause: Cause, *, priority: int = DEFAULT_PRIORITY, version: str = ""
    ) -> None:
        """Queue a name. Args: version is the object's version if only its status changed, otherwise ""."""


class OwnerCache(Protocol):
    """The cache of the owners' kind."""

    def get_by_key(self, key: str) -> Kind | None:
        """Return the cached object with that key, or None."""


def own_name(obj: Kind) -> tuple[ObjectName]:
    """Return the object's own name. Used as a map function."""
    return (object_name(obj),)


class OwnerNames:
    """
    A map function that returns the name of an object's controlling owner, or of all its owners, of one kind.

    Only owners whose name is in the cache are returned. The cached owner's UID may differ from the one in the
    reference, because a recreated owner can be waiting for the deletion of its predecessor's children. An
    owner that is not cached yet is queued anyway when it is added to the cache.
    """

    def __init__(self, owner: type[Kind], cache: OwnerCache, *, every_owner: bool = False) -> None:
        """Args: every_owner is True to include owners that do not control the object."""
        self._resource = owner.resource
        self._cache = cache
        self._every_owner = every_owner

    def __call__(self, obj: Kind) -> tuple[ObjectName, ...]:
        """Return the owners' names: at most one or, with every_owner, any number."""
        if self._every_owner:
            owners = obj.metadata.owner_references
            return tuple(dict.fromkeys(name for each in owners for name in self._names(obj, each)))
        reference = controller_of(obj)
        return () if reference is None else self._names(obj, reference)

    def _names(self, obj: Kind, reference: OwnerReference) -> tuple[ObjectName, ...]:
        if reference.kind != self._resource.kind:
            return ()
        if reference.api_version.rpartition("/")[0] != self._resource.group:
            return ()
        name = ObjectName(obj.metadata.namespace if self._resource.namespaced else "", reference.name)
        if self._cache.get_by_key(str(name)) is None:
            log.debug("Ignore orphaned object", v=4, object=object_name(obj), owner=name)
            return ()
        return (name,)


class InformerSource(Generic[T]):
    """
    Adds names to a controller's queue for the watch events of an informer.

    Implements handloop.controller.runtime.reconciling.controller.Watch and
    handloop.informers.handlers.ResourceEventHandler.
    State: _registration is None before start.
    Threads: one listener thread per informer calls the handlers.
    """

    def __init__(
        self,
        informer: MultiNamespaceInformer[T],
        names_of: MapFunc[T],
        *,
        sink: Sink,
        predicates: Sequence[Predicate] = (),
        observed: Callable[[str, ObjectName], None],
        gone: Callable[[Kind], None] = lambda _obj: None,
        panicked: Callable[[], None] = lambda: None,
        dropped: Callable[[Cause, str, Iterable[ObjectName]], None] = lambda *_: None,
        recorder: EventRecorder | None = None,
        commands: Commands | None = None,
    ) -> None:
        """
        Create a source without starting it.

        Args: observed is called for each watch event with `plural.group` and the object's name. gone is
        called for each deleted object, before names are queued. Both are called even if a predicate drops the
        event. panicked counts errors of predicates and map functions. dropped is called for each watch event
        that a predicate drops. Its arguments are the event's cause, the predicate's name, and the names that
        would have been queued, or () if computing them would be expensive. recorder, if given, reports each
        object that does not fit its type, or for which an index function fails. commands, if given, contains
        the annotations with which users control the objects.
        """
        self.kind = informer.kind
        self._resource = informer.kind.resource.group_resource
        self._informer = informer
        self._names_of = names_of
        self._sink = sink
        self._predicates = tuple(predicates)
        self._observed = observed
        self._gone = gone
        self._panicked = panicked
        self._dropped = dropped
        self._recorder = recorder
        self._commands = commands
        self._registration: Synced | None = None

    def start(self) -> None:
        """Start to add names to the queue, starting with the objects in the cache."""
        self._registration = self._informer.add_event_handler(self)
        if self._recorder is not None:
            # Register this only now, so that a standby does not report. All undecodable objects that are
            # known by now are passed at the registration.
            self._informer.on_undecodable(partial(self._report_undecodable, self._recorder))

    def list_again(self, names: Callable[[ObjectName], bool]) -> None:
        """Queue each cached object whose name is accepted by names, in the same way as after a first list."""
        for obj in self._informer.list():
            if names(object_name(obj)):
                self.on_add(obj, is_in_initial_list=True)

    def troubles(self) -> list[str]:
        """Return why the first list has not been fully delivered yet, or an empty list once it has."""
        troubles = self._informer.troubles()
        if troubles or self._registration is None or self._registration.has_synced():
            return troubles
        return [f"{self.kind.resource.group_resource}: still passing the first list to the controller"]

    def on_add(self, obj: T, is_in_initial_list: bool) -> None:  # noqa: FBT001 - client-go's signature
        """Handle an object that was added to the cache."""
        name = object_name(obj)
        self._observed(self._resource, name)
        self._tell_of_indexes(name, obj)
        verb = LISTED if is_in_initial_list else ADDED
        if self._passes(verb, name, obj, lambda each: each.create(obj)):
            self._enqueue(verb, name, obj)

    def on_update(self, old: T, new: T) -> None:
        """Handle a changed object. If both states have the same resource version, the event is a resync."""
        name = object_name(new)
        if new.metadata.uid != old.metadata.uid:
            self._gone(old)
        self._observed(self._resource, name)
        self._tell_of_indexes(name, new)
        is_resync = old.metadata.resource_version == new.metadata.resource_version
        if self._commands is not None and (said := self._commands.said(old, new)):
            self._enqueue(said, name, old, new)
            return
        verb, states = (RESYNCED, (new,)) if is_resync else (UPDATED, (old, new))
        if self._passes(verb, name, new, lambda each: _concerns(each, old, new)):
            is_status = not is_resync and self._names_of is own_name and _has_only_another_status(old, new)
            self._enqueue(verb, name, *states, version=new.metadata.resource_version if is_status else "")

    def on_delete(self, obj: T | DeletedFinalStateUnknown[T]) -> None:
        """Handle a deleted object, or a tombstone, which may have only the object's name."""
        state = final_state(obj)
        name = deletion_handling_object_to_name(obj)
        if state is not None:
            # Call _gone first, because _observed makes OwnWrites forget that the deletion was ours.
            self._gone(state)
        self._observed(self._resource, name)
        if state is not None:
            if self._passes(DELETED, name, state, lambda each: each.delete(state)):
                self._enqueue(DELETED, name, state)
        elif self._names_of is own_name:
            self._add(name, DELETED, name)

    def _enqueue(self, verb: str, event_of: ObjectName, *states: T, version: str = "") -> None:
        trace = _brought(verb, states) if TRACING.on else None
        for name in dict.fromkeys(name for state in states for name in self._names(event_of, state)):
            self._add(name, verb, event_of, version=version, trace=trace)

    def _add(
        self,
        name: ObjectName,
        verb: str,
        event_of: ObjectName,
        *,
        version: str = "",
        trace: SpanContext | None = None,
    ) -> None:
        cause = Cause(self.kind.resource.kind, verb, str(event_of), verb == RESYNCED, trace)
        priority = LOW_PRIORITY if verb in (LISTED, RESYNCED) else DEFAULT_PRIORITY
        self._sink.add(name, cause, priority=priority, version=version)

    def _passes(self, verb: str, name: ObjectName, obj: T, ask: Callable[[Predicate], bool]) -> bool:
        """Return whether every predicate lets an event pass, and report the event if one drops it."""
        try:
            against = next((each for each in self._predicates if not ask(each)), None)
        except BaseException as error:  # noqa: BLE001 - a needless reconcile does no harm, a lost watch event does
            self._report("Predicate failed, so the event triggers a reconcile", name, error)
            return True
        if against is None:
            return True
        kind, by = self.kind.resource.kind, type(against).__name__
        cheap = self._names_of is own_name or isinstance(self._names_of, OwnerNames)
        self._dropped(Cause(kind, verb, str(name)), by, self._names(name, obj) if cheap else ())
        log.debug("A predicate dropped a watch event", v=4, kind=kind, object=name, was=verb, by=by)
        return False

    def _names(self, event_of: ObjectName, state: T) -> tuple[ObjectName, ...]:
        try:
            return _checked(self._names_of(state))
        except BaseException as error:  # noqa: BLE001 - the other state and other objects remain useful
            self._report("Map function failed", event_of, error)
            return ()

    def _report(self, what: str, name: ObjectName, error: BaseException) -> None:
        self._panicked()
        kind = self.kind.resource.kind
        log.error(what, kind=kind, object=name, err=in_words(error, repr), exc_info=error)

    def _tell_of_indexes(self, name: ObjectName, obj: T) -> None:
        """Record an Event if an object is missing from an index. The store has already logged that."""
        if self._recorder is not None and (why := self._informer.why_unindexed(name)):
            self._recorder.event(obj, EVENT_TYPE_WARNING, NOT_INDEXED, why)

    def _report_undecodable(self, recorder: EventRecorder, undecodable: Undecodable) -> None:
        """Record an Event about an undecodable object, once per version. Runs on the reflector's thread."""
        reference = reference_to_undecodable(self.kind.resource, undecodable)
        recorder.event(reference, EVENT_TYPE_WARNING, INVALID_OBJECT, undecodable.error)


def _concerns(predicate: Predicate, old: Kind, new: Kind) -> bool:
    """Return whether a predicate lets a change pass. With a new UID, ask it about a delete and a create."""
    if old.metadata.uid != new.metadata.uid:
        return predicate.delete(old) or predicate.create(new)
    return predicate.update(old, new)


def _brought(verb: str, states: Sequence[Kind]) -> SpanContext | None:
    """Return the trace in an object's annotation, or None if the event did not change that annotation."""
    if verb in (LISTED, RESYNCED, DELETED):
        return None
    old, new = (annotated(state.metadata.annotations) for state in (states[0], states[-1]))
    return None if len(states) > 1 and old == new else new


def _has_only_another_status(old: Kind, new: Kind) -> bool:
    """Return whether nothing but the status can differ, because the generation and metadata are equal."""
    before, after = old.metadata, new.metadata
    same = replace(before, resource_version=after.resource_version) == after
    return same and after.generation > 0


def _checked(names: Iterable[Any]) -> tuple[ObjectName, ...]:
    """Return a map function's names. Raises: TypeError if one is not an ObjectName, for example a key."""
    found = tuple(names)
    for name in found:
        if not isinstance(name, ObjectName):
            raise TypeError(f"a map function must return ObjectNames, not {name!r}")
    return found
