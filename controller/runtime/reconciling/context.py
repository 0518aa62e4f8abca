"""The second argument of a reconcile: its causes, its deadline, and the tools for reading and writing."""

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
from handloop.seams.logs import get_logger, in_words

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
    """The caches that a Context reads: either a ControllerCaches or a Manager."""

    def referred(self, kind: type[K], name: ObjectName, *, owner: ObjectName) -> K | None:
        """Return the object with that name, to which owner refers, or None if it does not exist."""


class TrackedWrites(Protocol):
    """The writes of one reconcile: a NameWrites."""

    def sending(self, call: Call) -> None:
        """Record that the context's client is about to write. It calls this as its OnSend."""

    def accepted(self, call: Call, response: Response) -> None:
        """Record a write by the context's client, which calls this as its OnWrite."""

    def wrote(self, obj: Kind) -> None:
        """Record a write by another client. Args: obj is the object in the server's response."""

    def deleted(self, obj: Kind) -> None:
        """Record a deletion by another client. Args: obj is the object's last known state."""


class Context:
    """
    The second argument of a reconcile, after the object or the name.

    Write through client. It records each accepted create, update, patch, apply and delete, so the next
    reconcile of the name does not act on a cache that lacks these writes. If you write with another client,
    call wrote with the server's response to each write, and call deleted with the last known state of each
    object whose deletion the server accepted.

    A unit test creates a Context with only the parts that its reconciler uses. Threads: only the worker's.
    """

    controller: str
    """The controller's name, which apply uses as its field manager."""

    name: ObjectName
    """The name of the reconciled object."""

    id: str
    """An ID of this reconcile, which is included in each of its log lines."""

    causes: tuple[str, ...]
    """All causes of this reconcile, such as ("MyApp default/a updated", "requeue after 30s")."""

    deadline: Deadline
    """The time limit of this reconcile. Nothing interrupts the reconcile: it must check deadline itself."""

    log: Any
    """A logger whose lines include the controller, the object's name, and id."""

    dry_run: bool
    """Whether this reconcile is a dry run for a plan, and so must not change anything outside the cluster."""

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
        Args: applied stores the fields that the controller applied earlier. statuses stores the results of
        its earlier status writes; None means that none are known. writes records each write that the server
        accepts. child_labels returns the labels to add to children. told is called for each Warning Event.
        clock can be a FakeClock in a test.
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
        """Return the time of the controller's clock, in UTC. In a test, use `Context(clock=FakeClock())`."""
        return datetime.fromtimestamp(self._clock.time(), UTC)

    @cached_property
    def client(self) -> Client:
        """The manager's client, extended to record this reconcile's writes."""
        if self._client is None:
            raise RuntimeError("this Context has no client: create it with Context(client=...)")
        if self._writes is None:
            return self._client
        return self._client.telling(self._writes.accepted, on_send=self._writes.sending)

    def wrote(self, obj: Kind) -> None:
        """Record a write by another client. Args: obj is the server's response."""
        if self._writes is not None:
            self._writes.wrote(obj)

    def deleted(self, obj: Kind) -> None:
        """Record an accepted deletion by another client. Args: obj is the object's last known state."""
        if self._writes is not None:
            self._writes.deleted(obj)

    @property
    def recorder(self) -> EventRecorder:
        """Records Events in the controller's name."""
        if self._recorder is None:
            raise RuntimeError("this Context has no recorder: create it with Context(recorder=...)")
        return self._recorder

    def event(self, obj: Kind, reason: str, message: str, event_type: str = EVENT_TYPE_NORMAL) -> None:
        """
        Record an Event about an object, which `kubectl describe` shows to users. Never raises or blocks.

        Args: reason is a CamelCase word for programs; message is for people; event_type is Normal or Warning.
        """
        self.recorder.event(obj, event_type, reason, message)
        if self._told is not None and event_type == EVENT_TYPE_WARNING:
            self._told(f"{reason}: {in_words(message)}")

    def lister_for(self, kind: type[K], *, labels: Labels = "", fields: str = "") -> Lister[K]:
        """
        Return a lister for the cached objects of a kind.

        If labels or fields are given, the lister has the objects that match them. Otherwise, it has the
        objects of the kind that the controller watches. If the controller does not watch the kind, the lister
        has all of the kind's objects. An object that is missing from a selection's cache may still exist, but
        with other labels or fields.
        Raises: SeveralSelections if the controller watches several selections of the kind, and the call gives
        neither labels nor fields; MetadataOnly if the controller watches only the kind's metadata; the errors
        of Manager.lister_for.
        """
        selection: dict[str, Any] = {"labels": labels, "fields": fields} if labels or fields else {}
        return self._caches().lister_for(kind, **selection)

    def referred(self, kind: type[K], name: ObjectName | str) -> K | None:
        """
        Return an object to which the reconciled object refers, from the cache of such objects.

        Args: name, if it is a str, is the name of an object in the reconciled object's namespace.
        Returns: the object, or None if it does not exist or name is "".
        Raises: LookupError if ControllerBuilder.refers_to was not called for the kind; NotReferredError if
        the function passed to refers_to does not return the name; TerminalError if the name is not allowed;
        WaitError while the role does not allow reading the object, or its list fails for another reason.
        Blocks: briefly on the first call, until the object's first list has arrived.
        """
        listers = self._caches()
        if self.name is NO_NAME:
            raise RuntimeError("this Context has no name: create it with Context(name=object_name(obj))")
        if not name:
            return None
        full = referred_name(kind, name, self.name.namespace)
        return listers.referred(kind, full, owner=self.name)

    def apply(self, obj: K, *, owner: Kind | None = None) -> K:
        """
        Create an object, or correct the fields in which it differs from obj. Fields that were applied earlier
        and are no longer in obj are removed. If nothing differs, nothing is written. The object is read from
        the server once if an earlier process applied it or another client has changed it, and on every call
        if the cache does not store the whole object.

        Built from: with_controller(obj, owner), lister_for, is_controlled_by, is_applied, AppliedFields, and
        the function apply, which uses the controller's name as field manager and takes over fields from other
        managers.

        Args: owner becomes the controller of the object. If an object with that name exists and owner does
        not control it, that object is not changed, and a Warning Event on owner reports it; the server checks
        this too, through a precondition. If owner is None, the object has no owner, and any object with that
        name is treated as ours.
        Returns: the object from the cache or from the response. While owner is being deleted, nothing is
        written.
        Raises: WaitError while the object is being deleted, or while an earlier object with owner's name owns
        it; NameTakenError; OwnerError; TypeError if obj has string_data; the errors of ResourceClient.patch
        and Manager.lister_for.
        """
        try:
            return self._children().apply(obj, owner, caller=sys._getframe(1))  # noqa: SLF001 - documented
        except NameTakenError as error:
            if owner is not None:
                self.event(owner, NAME_TAKEN, str(error), EVENT_TYPE_WARNING)
            raise

    def prune(self, kind: type[K], *, keep: Iterable[Kind], owner: Kind) -> tuple[K, ...]:
        """
        Delete the children of owner that are not in keep. The role needs the verb `delete`.

        Built from: the lists of all caches of the kind, is_controlled_by, which compares UIDs, and
        client.resource(kind).delete, in the background, with the UID and version in the cache as
        preconditions. Reads all cached objects in the namespace.

        Args: keep has the children to keep, as passed to apply or returned by it. They are matched by name.
        Returns: the deleted objects, as they were in the cache. While owner is being deleted, nothing is
        deleted.
        Raises: Conflict if a child has changed; the errors of ResourceClient.delete and Manager.lister_for.
        """
        return self._children().prune(kind, keep=keep, owner=owner)

    def update_status(self, obj: K, status: APIStruct, *, observed: bool = True) -> K:
        """
        Write the fields in which an object's status differs. If nothing differs, no request is sent.

        If the status has a field observed_generation, it is set to the generation of obj, unless observed is
        False. Fields in the stored status that our type lacks are not removed, because they come from a newer
        definition of the kind. If the server drops a field because its definition is older than our type, the
        field is logged once (E18) and does not cause further writes. Built from: evolve(obj, "status",
        status), StatusWrites, and a merge patch by client.resource for obj's version, with the controller's
        name as field manager.

        Returns: the stored object, or obj if nothing was sent.
        Raises: TypeError if status has another type, or the kind has no status subresource; Conflict if the
        object has changed since it was read; NotFound if it no longer exists; ReconcileError if the server
        has no status subresource for the kind, which ResourceClient reports as NotFound; the errors of
        ResourceClient.patch.
        """
        if not has_status_subresource(type(obj)):
            kind = type(obj).__name__
            raise TypeError(
                f"{kind} has status_subresource = False: patch the object itself with client.resource"
            )
        changed = with_status(obj, status) if observed else evolve(obj, "status", status)
        if changed == obj:
            return obj
        return self._statuses.write(obj, changed, client=self.client, manager=self.controller)

    def set_conditions(self, obj: Reporting, *conditions: Condition) -> Conditions:
        """
        Return an object's conditions with the given ones added by set_condition, which uses the current time.

        A condition replaces an earlier one of the same type. If it has no observed_generation, the object's
        generation is used, because `kubectl wait` ignores a condition of an earlier generation.
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
            raise RuntimeError("this Context has no caches: create it with Context(listers=...)")
        return self._listers
