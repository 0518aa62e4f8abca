"""An operator of a user: its kind, its reconciler, its set-up."""

from __future__ import annotations

from typing import Any

from handloop.apis.meta import APIStruct, Kind
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.reconciling.context import Context
from handloop.informers.keys import ObjectName
from handloop.kinds.core_v1 import ConfigMap


class GreetingSpec(APIStruct):
    """Who is greeted."""

    name: str = ""


class Greeting(Kind, group="m.example.com", version="v1"):
    """A greeting."""

    spec: GreetingSpec = GreetingSpec()


class Greeter:
    """Writes no greeting, and remembers the objects it should have greeted."""

    def __init__(self) -> None:
        self.seen: list[ObjectName] = []

    def reconcile(self, name: ObjectName, _context: Context) -> None:
        """Remember the name."""
        self.seen.append(name)


def set_up(manager: Manager, greeter: Any = None, name: str = "greeter") -> None:
    """A controller of Greetings and their ConfigMaps, which records Events."""
    builder = controller_for(manager, name).for_(Greeting).owns(ConfigMap)
    builder.writes(ConfigMap, "patch").complete_by_name(greeter or Greeter())
