"""An operator of somebody else: its kind, its reconciler, its set-up."""

from __future__ import annotations

from typing import Any, Literal

from handloop.apis.core_v1 import Event
from handloop.apis.meta import EMPTY_MAP, APIStruct, FrozenMap, Kind
from handloop.apis.resource import Resource
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.rbac.access import Access
from handloop.controller.runtime.reconcile import ReconcileContext
from handloop.informers.keys import ObjectName


class GreetingSpec(APIStruct, frozen=True):
    """Who is greeted."""

    name: str = ""


class Greeting(Kind, frozen=True, kw_only=True, tag="Greeting"):
    """A greeting."""

    resource = Resource("m.example.com", "v1", "greetings", "Greeting")
    api_version: Literal["m.example.com/v1"] = "m.example.com/v1"
    spec: GreetingSpec = GreetingSpec()


class ConfigMap(Kind, frozen=True, tag="ConfigMap"):
    """A map."""

    resource = Resource("", "v1", "configmaps", "ConfigMap")
    api_version: Literal["v1"] = "v1"
    data: FrozenMap = EMPTY_MAP


class Greeter:
    """Greets nobody, and remembers whom it should have greeted."""

    def __init__(self) -> None:
        self.seen: list[ObjectName] = []

    def reconcile(self, name: ObjectName, _context: ReconcileContext) -> None:
        """Remember the name."""
        self.seen.append(name)


def set_up(manager: Manager, greeter: Any = None, name: str = "greeter") -> None:
    """A controller of Greetings and their ConfigMaps, which records Events."""
    builder = controller_for(manager, name).for_(Greeting).owns(ConfigMap)
    builder.declares(
        Access(resource=Greeting.resource, verbs=("list", "watch")),
        Access(resource=ConfigMap.resource, verbs=("list", "watch", "patch")),
        Access(resource=Event.resource, verbs=("create",)),
    ).complete(greeter or Greeter())
