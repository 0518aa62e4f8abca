"""The second argument of a reconcile: why it runs, how long it may take, and the tools for its work."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from types import FrameType
from typing import Any, Final, Protocol, TypeVar, cast

from msgspec.structs import replace

from handloop.apis.conditions import Condition, Conditions, set_condition
from handloop.apis.evolve import evolve
from handloop.apis.meta import APIStruct, Kind, ObjectMeta, controller_of, is_controlled_by
from handloop.apis.resource import Resource
from handloop.client.errors import ClientError, Conflict, Forbidden, NotFound
from handloop.client.http.response import Response
from handloop.client.resource_client import Client
from handloop.client.rest_client import Call
from handloop.controller.runtime.applied_fields import AppliedFields
from handloop.controller.runtime.apply import ABSENT, NO_PRECONDITION, apply, is_applied, owned_fields
from handloop.controller.runtime.events.recorder import (
    EVENT_TYPE_NORMAL,
    EVENT_TYPE_WARNING,
    EventRecorder,
)
from handloop.controller.runtime.finalizers import is_being_deleted
from handloop.controller.runtime.owner_references import is_of_predecessor, with_controller
from handloop.controller.runtime.reconcile import Deadline, ReconcileError, WaitError
from handloop.controller.runtime.referred_objects import referred_name
from handloop.informers.keys import ObjectName, object_name
from handloop.informers.lister import Lister
from handloop.informers.selection import Labels, MetadataOnly, OutsideSelection, SeveralSelections
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


NAME_TAKEN: Final = "NameTaken"
NO_NAME: Final = ObjectName("", "")


class NameTakenError(ReconcileError):
    """
    A foreign object has the name of an object to write. It is left alone; retried, as it may go.

    Its deletion wakes no reconcile, so the retry comes in 5 s at the earliest, ever more rarely.
    """

    retry_seconds = 5.0


class Listers(Protocol):
    """The caches: a ControllerCaches, or a Manager."""

    def lister_for(self, kind: type[K], *, labels: Labels = "", fields: str = "") -> Lister[K]:
        """The cached objects of a kind; the first call for a kind starts its cache and waits for it."""

    def listers_of(self, kind: type[K]) -> Sequence[Lister[Any]]:
        """All caches of a kind: of selections, and of metadata alone; else the one of lister_for."""

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

    Fields: controller = its name, which is the field manager of apply. name = that of the reconciled object.
    id is in every log line of this reconcile. causes led to it, merged, such as ("MyApp default/a updated",
    "requeue after 30s"). deadline is co-operative: the reconcile asks it between steps. log is bound to
    controller, object and id.

    Write through client. It records each accepted create, update, patch, apply and delete, so the next
    reconcile of the name does not act on a cache that lacks these writes. For a foreign client call wrote
    with the server's answer to each write, and deleted with each object, as it was known, whose deletion the
    server accepted.

    A unit test makes a Context of the parts that its reconciler uses. Threads: the worker's.
    """

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
        slot_labels: Callable[[], Mapping[str, str]] = dict,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        """
        Args: applied has the fields that the controller applied earlier, None = nothing is known; writes
        records each write that the server accepted; slot_labels are those of children.
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
        self._writes = writes
        self._slot_labels = slot_labels
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

    def lister_for(self, kind: type[K], *, labels: Labels = "", fields: str = "") -> Lister[K]:
        """
        The cached objects of a kind: those that the controller watches, else all; or those of a selection.

        A name that the cache of a selection lacks may exist, with other labels or fields.
        Raises: SeveralSelections if the controller watches several, and none is named; MetadataOnly if it
        watches no more than that; as Manager.lister_for.
        """
        if self._listers is None:
            raise RuntimeError("this Context was made without caches: Context(listers=...)")
        selection: dict[str, Any] = {"labels": labels, "fields": fields} if labels or fields else {}
        return self._listers.lister_for(kind, **selection)

    def referred(self, kind: type[K], name: ObjectName | str) -> K | None:
        """
        An object that the reconciled one refers to, from its cache; None without one, and for the name "".

        Args: a str is a name in the namespace of the reconciled object.
        Raises: LookupError for a kind without ControllerBuilder.refers_to; NotReferredError for a name that
        its function does not return; TerminalError for one that it does not allow; WaitError while we may not
        read it, or its list fails otherwise.
        Blocks: a moment at first, until its first list is there.
        """
        if self._listers is None:
            raise RuntimeError("this Context was made without caches: Context(listers=...)")
        if self.name is NO_NAME:
            raise RuntimeError("this Context was made without a name: Context(name=object_name(obj))")
        if not name:
            return None
        full = referred_name(kind, name, self.name.namespace)
        return self._listers.referred(kind, full, owner=self.name)

    def apply(self, obj: K, *, owner: Kind | None = None) -> K:
        """
        Create an object, or correct the fields of it that differ. Fields that were applied earlier and are no
        longer in obj are removed. If nothing differs, nothing is sent, but for one read of each object that
        an earlier process applied. An object that is not in a cache of a selection, or of which the cache has
        the metadata alone, is read from the server.

        The parts: with_controller(obj, owner), lister_for, is_controlled_by, is_applied, AppliedFields, and
        the function apply with the controller's name as field manager, which takes fields over from others.

        Args: owner controls the object; an object of that name which it does not control is left alone, and
        a Warning Event of owner reports it. The server checks that, too: a precondition of the apply is that
        the object is absent or as the cache has it. Otherwise the live object is read, and decides.
        None = no owner: any object of that name is taken for ours.
        Returns: the object as the cache or the answer has it. While owner is being deleted nothing is
        written, which is logged from -v 1 on: as the cache has it, or else as it would be written.
        Raises: WaitError while the object is being deleted, or belongs to an earlier object of the owner's
        name; NameTakenError; OwnerError; TypeError for string_data; as ResourceClient.patch and
        Manager.lister_for.
        """
        if getattr(obj, "string_data", None):
            raise TypeError("the server never returns string_data: say data=secret_data({...}) in its place")
        wanted = obj if owner is None else self._child(obj, owner)
        if owner is None and not obj.metadata.owner_references:
            self._tell_of_no_owner(obj, sys._getframe(1))  # noqa: SLF001 - documented
        present = self._present(wanted)
        if owner is not None and is_being_deleted(owner):
            self.log.debug("Not applied, as its owner is being deleted", object=object_name(wanted))
            return wanted if present is None else present
        self._require_ours(present, owner)
        if present is not None and self._is_as_wanted(wanted, present):
            return present
        return self._applied_as(wanted) if owner is None else self._apply_ours(wanted, present, owner)

    def _child(self, obj: K, owner: Kind) -> K:
        """With its controller, and the label by which the replica that has the owner finds it."""
        child = with_controller(obj, owner)
        labels = self._slot_labels()
        return evolve(child, "metadata.labels", {**child.metadata.labels, **labels}) if labels else child

    def _tell_of_no_owner(self, obj: Kind, caller: FrameType) -> None:
        """Once per kind and controller: the author declared that the kind has owners."""
        resource = obj.resource.group_resource
        if self._applied.lacks_owner(resource):
            self.log.warning(
                "Applied without owner=: its changes wake nobody, and it outlives its owner",
                object=f"{resource} {object_name(obj)}",
                at=f"{caller.f_code.co_filename}:{caller.f_lineno}",
                fix="context.apply(..., owner=obj), or .watches(...) in place of .owns(...)",
                once=True,
            )

    def prune(self, kind: type[K], *, keep: Iterable[Kind], owner: Kind) -> tuple[K, ...]:
        """
        Delete the children of owner that are not wanted any more, by their owner's UID; declare `delete`.

        The parts: the lists of all caches of the kind, is_controlled_by, and delete of client.resource(kind),
        in the background, with the UID and version in the cache. Reads all cached objects in the namespace.

        Args: keep = the wanted ones, by name, as apply takes or returns them.
        Returns: the deleted objects, as the cache has them; none while owner is being deleted.
        Raises: Conflict for a child that has changed; as ResourceClient.delete and Manager.lister_for.
        """
        if is_being_deleted(owner):
            return ()
        namespace = owner.metadata.namespace
        kept = {(each.metadata.namespace or namespace, each.metadata.name) for each in keep}
        if self._listers is None:
            raise RuntimeError("this Context was made without caches: Context(listers=...)")
        caches = self._listers.listers_of(kind)
        cached = {object_name(each): each for lister in caches for each in lister.list(namespace=namespace)}
        spare: tuple[K, ...] = tuple(
            each
            for name, each in cached.items()
            if is_controlled_by(each, owner) and name not in kept and not is_being_deleted(each)
        )
        for there in (each.metadata for each in spare):
            with suppress(NotFound):
                self.client.resource(kind).delete(
                    there.name,
                    namespace=there.namespace,
                    uid=there.uid,
                    resource_version=there.resource_version,
                    propagation_policy="Background",
                )
        return spare

    def _apply_ours(self, wanted: K, present: K | None, owner: Kind) -> K:
        """
        The cache may lag: by now the object may be another one, orphaned, or being deleted.

        So the apply is for the version in the cache, or else for the one that the server has.
        """
        try:
            return self._applied_as(wanted, _that_of(present))
        except Conflict as error:
            try:
                live = self._live(wanted)
            except Forbidden as refused:
                # whose it is will be seen once the cache has it
                raise error from refused
        self._require_ours(live, owner)
        if live is not None and self._is_as_wanted(wanted, live):
            return live
        return self._applied_as(wanted, _that_of(live))

    def _applied_as(self, wanted: K, precondition: Mapping[str, str] = NO_PRECONDITION) -> K:
        objects = self.client.resource(type(wanted))
        try:
            stored = apply(objects, wanted, field_manager=self.controller, precondition=precondition)
        except Conflict:
            raise  # the server has done nothing
        except BaseException:
            self._applied.forget(wanted)
            raise
        self._applied.remember(wanted, stored.metadata.uid)
        return stored

    def _live(self, wanted: K) -> K | None:
        metadata = wanted.metadata
        try:
            return self.client.resource(type(wanted)).get(metadata.name, namespace=metadata.namespace)
        except NotFound:
            return None

    def _present(self, wanted: K) -> K | None:
        """As the cache has it, or else, where a selection may keep it out of there, as the server has it."""
        try:
            lister = self._lister_of(wanted)
            found = lister.get(object_name(wanted))
        except (OutsideSelection, MetadataOnly):
            return self._live(wanted)
        if found is not None or not (lister.selection or self._slot_labels()):
            return found
        if not lister.selection.labels.matches(wanted.metadata.labels):
            self.log.warning(
                "Applied without the labels that the controller watches: its changes wake nobody",
                object=f"{wanted.resource.group_resource} {object_name(wanted)}",
                labels=str(lister.selection.labels),
                fix="give it these labels",
                once=True,
            )
        return self._live(wanted)

    def _lister_of(self, wanted: K) -> Lister[K]:
        """That of its kind; of several, the one that would hold it."""
        try:
            return self.lister_for(type(wanted))
        except SeveralSelections as several:
            fields = owned_fields(wanted)
            fitting = [each for each in several.caches if each.selection.matches(fields)]
            return cast("Lister[K]", (fitting or several.caches)[0])

    def _is_as_wanted(self, wanted: Kind, present: Kind) -> bool:
        return is_applied(wanted, present) and self._applied.are_all_wanted(
            wanted, present, client=self.client, manager=self.controller
        )

    def update_status(self, obj: K, status: APIStruct) -> K:
        """
        Write an object's status if it differs; an equal status costs no request.

        A field observed_generation is filled in: obj's generation is the one that the status is about.
        The parts: evolve(obj, "status", status), and update_status of client.resource, with the controller's
        name as field manager.

        Returns: the stored object, or obj. Raises: TypeError for a status of another type; Conflict when the
        object has changed since it was read; NotFound when it is gone; ReconcileError when the server keeps
        no status of this kind, which is a NotFound for ResourceClient; as ResourceClient.update_status.
        """
        changed = evolve(obj, "status", status)
        if hasattr(status, "observed_generation"):
            changed = evolve(changed, "status.observed_generation", obj.metadata.generation)
        if changed == obj:
            return obj
        try:
            return self.client.resource(type(obj)).update_status(changed, field_manager=self.controller)
        except NotFound as error:
            if self._has_status(obj.resource):
                raise
            raise ReconcileError(
                f"{error}: the server has no subresource status for {obj.resource.group_resource}: install "
                "the CustomResourceDefinition that is made of its type"
            ) from error

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

    def _has_status(self, resource: Resource) -> bool:
        """Whether the server serves it; True if the server does not answer that."""
        try:
            served = self.client.discovery().resources(resource.group, resource.version)
        except ClientError:
            return True
        return served is None or served.find(resource.plural, "status") is not None

    def _require_ours(self, present: Kind | None, owner: Kind | None) -> None:
        """Raises: NameTakenError; WaitError."""
        if present is None:
            return
        what, holder = f"{present.resource.kind} {present.metadata.name}", controller_of(present)
        if owner is None or is_controlled_by(present, owner):
            if is_being_deleted(present):
                raise WaitError(f"{what} is being deleted, and not gone yet")
            return
        if holder is not None and is_of_predecessor(holder, owner):
            raise WaitError(f"{what} of an earlier {holder.kind} {holder.name} is not gone yet")
        whose = "has no controller" if holder is None else f"belongs to {holder.kind} {holder.name}"
        text = f"{what} already exists and {whose}: left alone"
        self.event(owner, NAME_TAKEN, text, EVENT_TYPE_WARNING)
        raise NameTakenError(text)


def _that_of(present: Kind | None) -> Mapping[str, str]:
    """The precondition that the server has what we have seen."""
    if present is None:
        return ABSENT
    version = present.metadata.resource_version
    return {"resourceVersion": version} if version else NO_PRECONDITION
