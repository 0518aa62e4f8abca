"""A context on a sandbox without sockets, with a cache that is filled by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from handloop.apis.core_v1 import Service, ServicePort, ServiceSpec
from handloop.apis.meta import EMPTY_MAP, FrozenMap, Kind, ObjectMeta
from handloop.client.http.response import Response
from handloop.client.resource_client import Client
from handloop.client.rest_client import Call
from handloop.controller.runtime.events.fake_recorder import FakeRecorder
from handloop.controller.runtime.reconciling.context import Context
from handloop.informers.indexer import Indexer
from handloop.informers.keys import ObjectName
from handloop.informers.lister import Lister
from handloop.informers.selection import Labels
from handloop.testing.request_trace import RequestTrace
from handloop_sandbox.server import Sandbox

K = TypeVar("K", bound=Kind)


class ConfigMap(Kind, group="", version="v1", partial=False):
    """A child."""

    data: FrozenMap = EMPTY_MAP


class Tools:
    """A context, its cache of ConfigMaps, and its reports: accepted writes, and Events."""

    def __init__(self) -> None:
        self.sandbox = Sandbox(token="", controllers=(), seed=1)
        self.trace = RequestTrace(self.sandbox.engine, "", user_agent="")
        self.admin: Any = Client(self.sandbox.transport())  # type: ignore[arg-type] # the same shapes
        self.cache: Indexer[Any] = Indexer()
        self.recorder = FakeRecorder()
        self.told: list[tuple[str, int | str]] = []
        self.context = self.new_context()
        spec = ServiceSpec(ports=(ServicePort(port=80),))
        metadata = ObjectMeta(name="owner", namespace="default")
        self.owner: Service = self.admin.resource(Service).create(Service(metadata=metadata, spec=spec))

    def new_context(self) -> Context:
        """That of a process which knows nothing of earlier applies."""
        return Context(
            controller="greeter",
            client=self.admin,
            listers=self,
            recorder=self.recorder,
            writes=self,
        )

    def sending(self, call: Call) -> None:
        """Implements the context's TrackedWrites, as do accepted, wrote and deleted."""

    def accepted(self, call: Call, response: Response) -> None:
        self.told.append((call.verb, response.status))

    def wrote(self, obj: Kind) -> None:
        self.told.append(("wrote", obj.metadata.name))

    def deleted(self, obj: Kind) -> None:
        self.told.append(("deleted", obj.metadata.name))

    def lister_for(self, kind: type[K], *, labels: Labels = "", fields: str = "") -> Lister[K]:
        """Implements handloop.controller.runtime.reconciling.context.Listers."""
        return Lister(self.cache, kind.resource)

    def listers_of(self, kind: type[K]) -> Sequence[Lister[K]]:
        """Implements handloop.controller.runtime.reconciling.context.Listers."""
        return [self.lister_for(kind)]

    def referred(self, kind: type[K], name: ObjectName, *, owner: ObjectName) -> K | None:
        """Implements handloop.controller.runtime.reconciling.context.Listers."""
        raise NotImplementedError

    def going_owner(self) -> Service:
        """The owner, as its deletion has begun."""
        metadata = replace(self.owner.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
        return replace(self.owner, metadata=metadata)

    def apply(self, text: str, *, owner: Service | None = None) -> ConfigMap:
        """Apply the ConfigMap `a`."""
        wanted = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"), data=FrozenMap({"text": text}))
        return self.context.apply(wanted, owner=owner or self.owner)

    def sync(self) -> ConfigMap:
        """Let the cache see the ConfigMap."""
        live: ConfigMap = self.admin.resource(ConfigMap).get("a", namespace="default")
        self.cache.replace([live], "1")
        return live
