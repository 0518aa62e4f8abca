"""The second argument of a reconcile: why it runs, how long it may take, and the tools that it works with."""

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
    """The caches: either a ControllerCaches or a Manager."""

    def referred(self, kind: type[K], name: ObjectName, *, owner: ObjectName) -> K | None:
        """Return the object with that name that owner refers to, or None."""


class TrackedWrites(Protocol):
    """The writes of one reconcile: a NameWrites."""

    def accepted(self, call: Call, response: Response) -> None:
        """The server accepted a write by the context's client. An OnWrite."""

    def wrote(self, obj: Kind) -> None:
        """The server accepted a write by another client. Args: obj is the server's response."""

    def deleted(self, obj: Kind) -> None:
        """The server accepted a deletion by another client. Args: obj is the object as last known."""


class Context:
    """
    The second argument of a reconcile, after the object or the name.

    Write through client. It records each accepted create, update, patch, apply and delete, so the next
    reconcile of the name does not act on a cache that lacks these writes. If you write with another client,
    call wrote with the server's response to each write, and call deleted with the last known state of each
    object whose deletion the server accepted.

    A unit test builds a Context from the parts that its reconciler uses. Threads: the worker's.
    """

    controller: str
    """The controller's name, which is the field manager of apply."""

    name: ObjectName
    """The name of the reconciled object."""

    id: str
    """Included in every log line of this reconcile."""

    causes: tuple[str, ...]
    """The merged causes of this reconcile, such as ("MyApp default/a updated", "requeue after 30s")."""

    deadline: Deadline
    """Co-operative: the reconcile checks it between steps."""

    log: Any
    """A logger that is bound to controller, object and id."""

    dry_run: bool
    """Whether this reconcile is for a plan: it writes nothing, and may change nothing outside the cluster."""

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
        Args: applied knows the fields that the controller applied earlier. statuses knows the results of its
        status writes; if it is None, none are known. writes records each write that the server accepted.
        child_labels are the labels of children. told is called for each Warning Event. A test's clock may be
        a FakeClock.
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
        """Return the time on the controller's clock, in UTC. For a test: `Context(clock=FakeClock())`."""
        return datetime.fromtimestamp(self._clock.time(), UTC)

    @cached_property
    def client(self) -> Client:
        """The manager's client, which records this reconcile's writes."""
        if self._client is None:
            raise RuntimeError("this Context was made without a client: Context(client=...)")
        return self._client if self._writes is None else self._client.telling(self._writes.accepted)

    def wrote(self, obj: Kind) -> None:
        """Record a write by another client. Args: obj is the server's response."""
        if self._writes is not None:
            self._writes.wrote(obj)

    def deleted(self, obj: Kind) -> None:
        """Record an accepted deletion by another client. Args: obj is the object as last known."""
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
        Tell people about an object, through recorder.event and `kubectl describe`. Never raises or blocks.

        Args: reason is in CamelCase, for programs; event_type is Normal or Warning.
        """
        self.recorder.event(obj, event_type, reason, message)
        if self._told is not None and event_type == EVENT_TYPE_WARNING:
            self._told(f"{reason}: {message}")

    def lister_for(self, kind: type[K], *, labels: Labels = "", fields: str = "") -> Lister[K]:
        """
        Return the cached objects of a kind: those that the controller watches, otherwise all, or a selection.

        An object that is missing from a selection's cache may still exist with other labels or fields.
        Raises: SeveralSelections if the controller watches several, and the call names none; MetadataOnly if
        it watches only metadata; as Manager.lister_for.
        """
        selection: dict[str, Any] = {"labels": labels, "fields": fields} if labels or fields else {}
        return self._caches().lister_for(kind, **selection)

    def referred(self, kind: type[K], name: ObjectName | str) -> K | None:
        """
        Return an object that the reconciled one refers to, from its cache; None if there is none, or for "".

        Args: a str is a name in the namespace of the reconciled object.
        Raises: LookupError for a kind without ControllerBuilder.refers_to; NotReferredError for a name that
        its function does not return; TerminalError for a name that it does not allow; WaitError while we may
        not read the object, or its list fails for another reason.
        Blocks: briefly on the first call, until the object's first list has arrived.
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
        Create an object, or correct the fields in which it differs. Fields that were applied earlier and are
        no longer in obj are removed. If nothing differs, no request is sent, except one read of each object
        that an earlier process applied, or that another client has changed. An object that the cache does not
        hold completely is read from the server.

        The parts: with_controller(obj, owner), lister_for, is_controlled_by, is_applied, AppliedFields, and
        the function apply with the controller's name as field manager, taking fields over from others.

        Args: owner controls the object. If an object with that name exists and owner does not control it, it
        is left alone, and a Warning Event on owner reports it; a precondition makes the server check this,
        too. None means that there is no owner, and any object with that name is treated as ours.
        Returns: the object from the cache or from the response. While owner is being deleted, nothing is
        written.
        Raises: WaitError while the object is being deleted, or an earlier object with the owner's name owns
        it; NameTakenError; OwnerError; TypeError for string_data; as ResourceClient.patch and
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
        Delete the children of owner (by its UID) that are no longer wanted. Declare the verb `delete`.

        The parts: the lists of all caches of the kind, is_controlled_by, and delete of client.resource(kind),
        in the background, with the UID and version in the cache. Reads all cached objects in the namespace.

        Args: keep are the wanted children, matched by name, as apply takes or returns them.
        Returns: the deleted objects, as the cache has them; none while owner is being deleted.
        Raises: Conflict for a child that has changed; as ResourceClient.delete and Manager.lister_for.
        """
        return self._children().prune(kind, keep=keep, owner=owner)

    def update_status(self, obj: K, status: APIStruct, *, observed: bool = True) -> K:
        """
        Write the differences in an object's status. If the status is equal, no request is sent.

        A field observed_generation is set to the generation of obj, which the status is about, unless
        observed is False. Fields that the type does not have are kept, because they come from a newer
        definition. A field that the server does not store, because its definition is older, is reported once
        (E18) and does not cause a write. The parts: evolve(obj, "status", status), StatusWrites, and a merge
        patch by client.resource for the version of obj, with the controller's name as field manager.

        Returns: the stored object, or obj. Raises: TypeError for a status of another type, or of a kind
        without its subresource; Conflict if the object has changed since it was read; NotFound if it is gone;
        ReconcileError if the server keeps no status of this kind (a NotFound for ResourceClient); as
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
        Return an object's conditions with these added, or replaced by type, as set_condition does now.

        A condition without an observed_generation gets the object's generation, because `kubectl wait`
        ignores a condition of an earlier generation.
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
