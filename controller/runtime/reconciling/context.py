"""The second argument of a reconcile: why it runs, how long it may take, and the tools for its work."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final, Protocol, TypeVar

from msgspec.structs import replace

from handloop.apis.class_attributes import has_status_subresource
from handloop.apis.conditions import Condition, Conditions, set_condition
from handloop.apis.evolve import evolve
from handloop.apis.meta import APIStruct, Kind, ObjectMeta
from handloop.client.http.response import Response
from handloop.client.resource_client import Client
from handloop.client.rest_client import Call
from handloop.controller.runtime.children.applied_fields import AppliedFields
from handloop.controller.runtime.children.children import Caches, Children
from handloop.controller.runtime.children.owner_references import NAME_TAKEN, NameTakenError
from handloop.controller.runtime.events.recorder import (
    EVENT_TYPE_NORMAL,
    EVENT_TYPE_WARNING,
    EventRecorder,
)
from handloop.controller.runtime.reconcile import Deadline
from handloop.controller.runtime.reconciling.status_writes import StatusWrites, with_status
from handloop.controller.runtime.sources.referred_objects import referred_name
from handloop.informers.keys import ObjectName
from handloop.informers.lister import Lister
from handloop.informers.selection import Labels
from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.logs import get_logger

K = TypeVar("K", bound=Kind)


class HasConditions(Protocol):
    """A status with conditions."""

    @property
    def conditions(self) -> Conditions:
        """At most one of each type."""


class Reporting(Protocol):
    """An object whose status has conditions."""

    @property
    def metadata(self) -> ObjectMeta:
        """Its metadata."""

    @property
    def status(self) -> HasConditions:
        """Its status."""


NO_NAME: Final = ObjectName("", "")


class Listers(Caches, Protocol):
    """The caches: a ControllerCaches, or a Manager."""

    def referred(self, kind: type[K], name: ObjectName, *, owner: ObjectName) -> K | None:
        """The object of that name, to which owner refers; None without one."""


class TrackedWrites(Protocol):
    """The writes of one reconcile: a NameWrites."""

    def accepted(self, call: Call, response: Response) -> None:
        """The server accepted a write of the context's client: an OnWrite."""

    def wrote(self, obj: Kind) -> None:
        """The server accepted a write of another client. Args: obj is its answer."""

    def deleted(self, obj: Kind) -> None:
        """The server accepted a deletion by another client. Args: obj as it was known."""


class Context:
    """
    The second argument of a reconcile, after the object or the name.

    Write through client. It records each accepted create, update, patch, apply and delete, so the next
    reconcile of the name does not act on a cache that lacks these writes. For a foreign client call wrote
    with the server's answer to each write, and deleted with each object, as it was known, whose deletion the
    server accepted.

    A unit test makes a Context of the parts that its reconciler uses. Threads: the worker's.
    """

    controller: str
    """The controller's name, which is the field manager of apply."""

    name: ObjectName
    """That of the reconciled object."""

    id: str
    """In every log line of this reconcile."""

    causes: tuple[str, ...]
    """They led to it, merged, such as ("MyApp default/a updated", "requeue after 30s")."""

    deadline: Deadline
    """Co-operative: the reconcile asks it between steps."""

    log: Any
    """Bound to controller, object and id."""

    dry_run: bool
    """Whether it is a plan's: nothing is written, and nothing outside of the cluster may be done."""

    def __init__(
        self,
        *,
        controller: str = "reconcile",
        name: ObjectName = NO_NAME,
        id: str = "",  # noqa: A002 - a keyword
        causes: tuple[str, ...] = (),
        deadline: Deadline | None = None,
        log: Any = None,
        client: Client | None = None,
        listers: Listers | None = None,
        recorder: EventRecorder | None = None,
        writes: TrackedWrites | None = None,
        applied: AppliedFields | None = None,
        statuses: StatusWrites | None = None,
        child_labels: Callable[[], Mapping[str, str]] = dict,
        told: Callable[[str], None] | None = None,
        dry_run: bool = False,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        """
        Args: applied has the fields that the controller applied earlier, and statuses what became of its
        writes of statuses, None = nothing is known; writes records each write that the server accepted;
        child_labels are those of children; told hears of each Warning Event.
        A test's clock may be a FakeClock.
        """
        self.controller = controller
        self.name = name
        self.id = id
        self.causes = causes
        self.deadline = deadline or Deadline(clock=clock)
        self.log = log or get_logger(controller)
        self._client = client
        self._listers = listers
        self._recorder = recorder
        self._applied = AppliedFields() if applied is None else applied
        self._statuses = StatusWrites(clock) if statuses is None else statuses
        self._writes = writes
        self._child_labels = child_labels
        self._told = told
        self.dry_run = dry_run
        self._clock = clock

    def __repr__(self) -> str:
        return f"<Context of {self.controller}, id {self.id or '-'}, causes {', '.join(self.causes) or '-'}>"

    def now(self) -> datetime:
        """The time of the controller's clock, in UTC. A test moves it: `Context(clock=FakeClock())`."""
        return datetime.fromtimestamp(self._clock.time(), UTC)

    @cached_property
    def client(self) -> Client:
        """The manager's client, which records this reconcile's writes."""
        if self._client is None:
            raise RuntimeError("this Context was made without a client: Context(client=...)")
        return self._client if self._writes is None else self._client.telling(self._writes.accepted)

    def wrote(self, obj: Kind) -> None:
        """Record a write of a foreign client. Args: obj is the server's answer."""
        if self._writes is not None:
            self._writes.wrote(obj)

    def deleted(self, obj: Kind) -> None:
        """Record a deletion by a foreign client, which the server accepted. Args: obj as it was known."""
        if self._writes is not None:
            self._writes.deleted(obj)

    @property
    def recorder(self) -> EventRecorder:
        """Records Events in the controller's name."""
        if self._recorder is None:
            raise RuntimeError("this Context was made without a recorder: Context(recorder=...)")
        return self._recorder

    def event(self, obj: Kind, reason: str, message: str, event_type: str = EVENT_TYPE_NORMAL) -> None:
        """
        Tell people about an object, in `kubectl describe`: recorder.event. Never raises, never blocks.

        Args: reason CamelCase, for programs; event_type Normal or Warning.
        """
        self.recorder.event(obj, event_type, reason, message)
        if self._told is not None and event_type == EVENT_TYPE_WARNING:
            self._told(f"{reason}: {message}")

    def lister_for(self, kind: type[K], *, labels: Labels = "", fields: str = "") -> Lister[K]:
        """
        The cached objects of a kind: those that the controller watches, else all; or those of a selection.

        A name that the cache of a selection lacks may exist, with other labels or fields.
        Raises: SeveralSelections if the controller watches several, and none is named; MetadataOnly if it
        watches no more than that; as Manager.lister_for.
        """
        selection: dict[str, Any] = {"labels": labels, "fields": fields} if labels or fields else {}
        return self._caches().lister_for(kind, **selection)

    def referred(self, kind: type[K], name: ObjectName | str) -> K | None:
        """
        An object that the reconciled one refers to, from its cache; None without one, and for the name "".

        Args: a str is a name in the namespace of the reconciled object.
        Raises: LookupError for a kind without ControllerBuilder.refers_to; NotReferredError for a name that
        its function does not return; TerminalError for one that it does not allow; WaitError while we may not
        read it, or its list fails otherwise.
        Blocks: a moment at first, until its first list is there.
        """
        listers = self._caches()
        if self.name is NO_NAME:
            raise RuntimeError("this Context was made without a name: Context(name=object_name(obj))")
        if not name:
            return None
        full = referred_name(kind, name, self.name.namespace)
        return listers.referred(kind, full, owner=self.name)

    def apply(self, obj: K, *, owner: Kind | None = None) -> K:
        """
        Create an object, or correct the fields of it that differ. Fields that were applied earlier and are no
        longer in obj are removed. If nothing differs, nothing is sent, but for one read of
        each object that an earlier process applied, or that another client has changed. What the cache does
        not hold whole is read from the server.

        The parts: with_controller(obj, owner), lister_for, is_controlled_by, is_applied, AppliedFields, and
        the function apply with the controller's name as field manager, which takes fields over from others.

        Args: owner controls the object; an object of that name which it does not control is left alone, and
        a Warning Event of owner reports it. The server checks that, too, by a precondition. None = no owner:
        any object of that name is ours.
        Returns: the object as the cache or the answer has it; while owner is being deleted nothing is
        written.
        Raises: WaitError while the object is being deleted, or belongs to an earlier object of the owner's
        name; NameTakenError; OwnerError; TypeError for string_data; as ResourceClient.patch and
        Manager.lister_for.
        """
        try:
            return self._children().apply(obj, owner, caller=sys._getframe(1))  # noqa: SLF001 - documented
        except NameTakenError as error:
            if owner is not None:
                self.event(owner, NAME_TAKEN, str(error), EVENT_TYPE_WARNING)
            raise

    def prune(self, kind: type[K], *, keep: Iterable[Kind], owner: Kind) -> tuple[K, ...]:
        """
        Delete the children of owner that are not wanted any more, by their owner's UID; declare `delete`.

        The parts: the lists of all caches of the kind, is_controlled_by, and delete of client.resource(kind),
        in the background, with the UID and version in the cache. Reads all cached objects in the namespace.

        Args: keep = the wanted ones, by name, as apply takes or returns them.
        Returns: the deleted objects, as the cache has them; none while owner is being deleted.
        Raises: Conflict for a child that has changed; as ResourceClient.delete and Manager.lister_for.
        """
        return self._children().prune(kind, keep=keep, owner=owner)

    def update_status(self, obj: K, status: APIStruct, *, observed: bool = True) -> K:
        """
        Write what differs in an object's status; an equal status costs no request.

        A field observed_generation is filled in: obj's generation is the one that the status is about, unless
        observed is False.
        Fields that the type does not have stay: they are those of a newer definition. A field that the server
        does not store, as its definition is older, is reported once (E18), and is no reason for a write.
        The parts: evolve(obj, "status", status), StatusWrites, and a merge patch by client.resource for the
        version of obj, with the controller's name as field manager.

        Returns: the stored object, or obj. Raises: TypeError for a status of another type, or of a kind
        without its subresource; Conflict when the object has changed since it was read; NotFound when it is
        gone; ReconcileError when the server keeps no status of this kind, which is a NotFound for
        ResourceClient; as ResourceClient.patch.
        """
        if not has_status_subresource(type(obj)):
            kind = type(obj).__name__
            raise TypeError(
                f"{kind} has status_subresource = False: patch the object itself, by client.resource"
            )
        changed = with_status(obj, status) if observed else evolve(obj, "status", status)
        if changed == obj:
            return obj
        return self._statuses.write(obj, changed, client=self.client, manager=self.controller)

    def set_conditions(self, obj: Reporting, *conditions: Condition) -> Conditions:
        """
        An object's conditions with these added, or in place of those of their types: set_condition, now.

        A condition without an observed_generation is of the object's generation: `kubectl wait` takes one of
        an earlier generation for out of date.
        """
        changed, generation = obj.status.conditions, obj.metadata.generation
        for condition in conditions:
            of = condition.observed_generation or generation
            changed = set_condition(
                changed, replace(condition, observed_generation=of), now=self._clock.time()
            )
        return changed

    def _children(self) -> Children:
        return Children(self, self._caches, self._applied, self._child_labels)

    def _caches(self) -> Listers:
        if self._listers is None:
            raise RuntimeError("this Context was made without caches: Context(listers=...)")
        return self._listers
