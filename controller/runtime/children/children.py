"""
Apply the children of one reconcile if they differ, and delete the ones that are no longer wanted.

An apply has four steps: build the wanted object with its owner; read the present object, from the cache or
the server; check that the controller may write it; and send the request, unless applied_fields reports that
it would change nothing.
Decision: An apply for an owner has a precondition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from types import FrameType
from typing import Any, Protocol, TypeVar, cast

from msgspec.structs import replace

from handloop.apis.meta import FrozenMap, Kind, is_controlled_by
from handloop.client.errors import Conflict, Forbidden, NotFound
from handloop.client.resource_client import Client
from handloop.controller.runtime.children.applied_fields import AppliedFields, owned_fields
from handloop.controller.runtime.children.apply import ABSENT, NO_PRECONDITION, apply
from handloop.controller.runtime.children.finalizers import is_being_deleted
from handloop.controller.runtime.children.owner_references import require_ours, with_controller
from handloop.informers.keys import ObjectName, object_name
from handloop.informers.lister import Lister
from handloop.informers.selection import Labels, MetadataOnly, OutsideSelection, SeveralSelections

K = TypeVar("K", bound=Kind)


class Caches(Protocol):
    """The caches of one controller."""

    def lister_for(self, kind: type[K], *, labels: Labels = "", fields: str = "") -> Lister[K]:
        """Return the cached objects of a kind. The first call per kind starts its cache and waits for it."""

    def listers_of(self, kind: type[K]) -> Sequence[Lister[Any]]:
        """Return all of a kind's caches, including those for selections, or else the one of lister_for."""


class Tools(Protocol):
    """The tools of a reconcile. Context implements it. Using a tool that was not provided is an error."""

    controller: str
    name: ObjectName
    log: Any

    @property
    def client(self) -> Client:
        """The client, which records the writes."""


class Children:
    """
    Applies and prunes the children of the object named tools.name. See Context.apply and Context.prune.

    Threads: only the worker that reconciles tools.name uses it.
    """

    def __init__(
        self,
        tools: Tools,
        caches: Callable[[], Caches],
        applied: AppliedFields,
        child_labels: Callable[[], Mapping[str, str]],
    ) -> None:
        """
        Args: caches raises an error if the Context has no caches. child_labels returns the labels by which
        the replica that reconciles the owner finds its children.
        """
        self._tools = tools
        self._caches = caches
        self._applied = applied
        self._child_labels = child_labels

    def apply(self, obj: K, owner: Kind | None, *, caller: FrameType) -> K:
        """
        Implements Context.apply, except for the Event about a NameTakenError.

        Args: caller is the frame of the author's code that called apply.
        """
        if not isinstance(obj, Kind):
            raise TypeError(f"apply takes an object, such as ConfigMap.named(...), not {type(obj).__name__}")
        if getattr(obj, "string_data", None):
            raise TypeError("the server never returns string_data: use data=secret_data({...}) instead")
        wanted = obj if owner is None else self._owned(obj, owner)
        if owner is None and not obj.metadata.owner_references:
            self._tell_of_no_owner(obj, caller)
        name = object_name(wanted)
        present = self._present(wanted, name)
        if owner is not None and is_being_deleted(owner):
            self._tools.log.debug("Not applied, because its owner is being deleted", object=name)
            return wanted if present is None else present
        if present is not None:
            require_ours(present, owner)
            if self._is_as_wanted(wanted, present):
                return present
        return self._send(wanted) if owner is None else self._send_to(present, wanted, owner)

    def prune(self, kind: type[K], *, keep: Iterable[Kind], owner: Kind) -> tuple[K, ...]:
        """Implements Context.prune."""
        if is_being_deleted(owner):
            return ()
        namespace = owner.metadata.namespace
        kept = {(each.metadata.namespace or namespace, each.metadata.name) for each in keep}
        caches = self._caches().listers_of(kind)
        cached = {object_name(each): each for lister in caches for each in lister.list(namespace=namespace)}
        spare: tuple[K, ...] = tuple(
            each
            for name, each in cached.items()
            if is_controlled_by(each, owner) and name not in kept and not is_being_deleted(each)
        )
        for there in (each.metadata for each in spare):
            with suppress(NotFound):
                self._tools.client.resource(kind).delete(
                    there.name,
                    namespace=there.namespace,
                    uid=there.uid,
                    resource_version=there.resource_version,
                    propagation_policy="Background",
                )
        return spare

    def _owned(self, obj: K, owner: Kind) -> K:
        """Return the child with its owner reference, and the labels by which the owner's replica finds it."""
        child, labels = with_controller(obj, owner), self._child_labels()
        if not labels:
            return child
        metadata = replace(child.metadata, labels=FrozenMap({**child.metadata.labels, **labels}))
        return replace(child, metadata=metadata)

    def _tell_of_no_owner(self, obj: Kind, caller: FrameType) -> None:
        """Log once per kind that an apply has no owner although its kind was given to owns()."""
        resource = obj.resource.group_resource
        if self._applied.lacks_owner(resource):
            self._tools.log.warning(
                "Applied without owner=: the child's changes trigger no reconcile, and it outlives its owner",
                object=f"{resource} {object_name(obj)}",
                at=f"{caller.f_code.co_filename}:{caller.f_lineno}",
                fix="context.apply(..., owner=obj), or .watches(...) instead of .owns(...)",
                once=True,
            )

    def _present(self, wanted: K, name: ObjectName) -> K | None:
        """
        Return the child from the cache, or from the server if a selection may exclude the child from the
        cache.
        """
        try:
            lister = self._lister_of(wanted)
            found = lister.get(name)
        except (OutsideSelection, MetadataOnly):
            return self._live(wanted)
        if found is not None or not (lister.selection or self._child_labels()):
            return found
        if not lister.selection.labels.matches(wanted.metadata.labels):
            self._tools.log.warning(
                "Applied without the labels that the controller watches: the child's changes trigger no "
                "reconcile",
                object=f"{wanted.resource.group_resource} {name}",
                labels=str(lister.selection.labels),
                fix="give the object these labels",
                once=True,
            )
        return self._live(wanted)

    def _lister_of(self, wanted: K) -> Lister[K]:
        """
        Return the lister for wanted's kind. If there are several, return the one whose selection matches
        wanted.
        """
        try:
            return self._caches().lister_for(type(wanted))
        except SeveralSelections as several:
            fields = owned_fields(wanted)
            fitting = [each for each in several.caches if each.selection.matches(fields)]
            return cast("Lister[K]", (fitting or several.caches)[0])

    def _live(self, wanted: K) -> K | None:
        metadata = wanted.metadata
        try:
            return self._tools.client.resource(type(wanted)).get(metadata.name, namespace=metadata.namespace)
        except NotFound:
            return None

    def _is_as_wanted(self, wanted: K, present: K) -> bool:
        tools = self._tools
        return self._applied.is_as_wanted(
            wanted, present, client=tools.client, manager=tools.controller, reconciled=tools.name
        )

    def _send_to(self, present: K | None, wanted: K, owner: Kind) -> K:
        """
        Apply wanted only to the object that was checked.

        The cache can lag, so the object may have been replaced, orphaned or marked for deletion by now. The
        apply therefore requires that the object still has the cached version or, if it was not cached, is
        still absent. After a Conflict, the server's object is checked and its version is required.
        """
        try:
            return self._send(wanted, _that_of(present))
        except Conflict as error:
            try:
                live = self._live(wanted)
            except Forbidden as refused:
                # The cache does not have the object yet, so its owner cannot be checked.
                raise error from refused
        if live is not None:
            require_ours(live, owner)
            if self._is_as_wanted(wanted, live):
                return live
        return self._send(wanted, _that_of(live))

    def _send(self, wanted: K, precondition: Mapping[str, str] = NO_PRECONDITION) -> K:
        objects = self._tools.client.resource(type(wanted))
        try:
            stored = apply(objects, wanted, field_manager=self._tools.controller, precondition=precondition)
        except Conflict:
            raise  # the server has done nothing
        except BaseException:
            self._applied.forget(wanted)
            raise
        self._applied.remember(wanted, stored, reconciled=self._tools.name)
        return stored


def _that_of(present: Kind | None) -> Mapping[str, str]:
    """Return a precondition: the server's object still has the version of `present`, or is still absent."""
    if present is None:
        return ABSENT
    version = present.metadata.resource_version
    return {"resourceVersion": version} if version else NO_PRECONDITION
