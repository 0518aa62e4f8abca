"""
Decide how each kind is sharded, and report objects and relations that cannot be sharded.

With shards by UID, the reconciled object's UID decides its slot, and its children are labelled with that
slot. Context.apply writes the label, and the informers of owned kinds store only the children in our slots.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

import msgspec

from handloop.apis.decoders import decoder_of
from handloop.apis.meta import Kind
from handloop.client.http.response import Response
from handloop.client.rest_client import Call
from handloop.controller.runtime.sources.informer_source import MapFunc
from handloop.informers.keys import ObjectName, object_name
from handloop.informers.sharding.held_slots import HeldSlots
from handloop.informers.sharding.shard_scope import SLOT_LABEL, ShardedBy, ShardScope
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger

_CREATED: Final = 201


class ShardingError(ValueError):
    """A controller or runnable cannot be sharded in the requested way."""


class ShardedKinds:
    """
    How each kind in a process is sharded. Implements handloop.informers.sharding.shard_scope.Sharding.

    State: _scopes maps each kind to its scope, or to None if each replica stores all objects of the kind.
    Threads: usable from any thread, before run.
    """

    def __init__(self, held: HeldSlots) -> None:
        """Start with no kinds."""
        self._held = held
        self._scopes: dict[type[Kind], ShardScope | None] = {}

    def declare(self, kind: type[Kind], by: ShardedBy | None) -> None:
        """
        Decide how a kind is sharded, before its first informer exists.

        Args: by is None if each replica must store all of the kind's objects. If one controller needs this,
        later calls for the kind cannot change it.
        Raises: ShardingError if another controller needs the kind to be sharded differently.
        """
        scope = None if by is None else ShardScope(self._held, by)
        if self._scopes.setdefault(kind, scope) not in (None, scope):
            raise ShardingError(
                f"{kind.__name__} cannot be sharded by uid for one controller and differently for another: "
                'use Shards(..., by="namespace")'
            )

    def scope_of(self, kind: type[Kind]) -> ShardScope | None:
        """Return a kind's scope. A kind that was not declared before this call is never sharded."""
        return self._scopes.setdefault(kind, None)


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    labels: dict[str, str] | None = None
    owner_references: list[Any] | None = None


class _Answer(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()


class UnlabelledChildren:
    """
    Reports children that were created without their slot's label.

    No replica receives the watch events of such children.
    State, under _lock: _resources contains the kinds that have not been reported yet.
    Threads: workers call accepted.
    """

    def __init__(self, controller: str, resources: Collection[str]) -> None:
        """Args: resources are the owned kinds that are sharded by label, as `plural.group`."""
        self._log = get_logger(controller, controller=controller)
        self._lock = new_lock("UnlabelledChildren._lock", 95)
        self._resources = set(resources)

    def accepted(self, call: Call, response: Response) -> None:
        """Check an accepted write. The client calls this as its OnWrite."""
        if call.resource not in self._resources or response.status != _CREATED or call.subresource:
            return
        made = decoder_of(_Answer).decode(response.body).metadata
        if not made.owner_references or SLOT_LABEL in (made.labels or {}):
            return
        with self._lock:
            is_news = call.resource in self._resources
            self._resources.discard(call.resource)
        if is_news:
            self._log.error(
                "Created without its slot's label: no replica is notified of its changes",
                object=f"{call.resource} {call.namespace}/{made.name}",
                fix=f"create it with context.apply(..., owner=obj), which writes the label {SLOT_LABEL}",
                once=True,
            )


class NamespaceCrossings:
    """
    Wraps a map function, and reports the first name that it returns from outside the object's namespace.

    With shards by namespace, a replica sees only the objects in its own namespaces.
    Threads: called by listeners.
    """

    def __init__(self, controller: str, names_of: MapFunc[Any]) -> None:
        self._log = get_logger(controller, controller=controller)
        self._names_of = names_of
        self._told = False

    def __call__(self, obj: Any) -> Iterable[ObjectName]:
        """Return the names that the map function returns for an object."""
        names: tuple[Any, ...] = tuple(self._names_of(obj))
        here = obj.metadata.namespace
        # InformerSource refuses what is not an ObjectName, and says so.
        found = [each for each in names if isinstance(each, ObjectName)]
        away = [] if self._told or not here else [each for each in found if each.namespace != here]
        if away:
            self._told = True
            self._log.error(
                "A relation across namespaces cannot be sharded by namespace: one replica needs both objects",
                object=f"{obj.resource.kind} {object_name(obj)}",
                name=away[0],
                fix="put both objects in one namespace, or run this controller with leader election",
                once=True,
            )
        return names
