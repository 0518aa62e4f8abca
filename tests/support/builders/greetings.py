"""An operator of Greetings for explorations: it makes what a reconcile function makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from handloop import (
    APIStruct,
    Context,
    FrozenMap,
    Kind,
    Manager,
    ObjectMeta,
    controller_for,
    new_controller_ref,
)
from handloop.kinds.core_v1 import ConfigMap
from handloop_explore.workload import Step, Workload, applied, changed


class GreetingSpec(APIStruct):
    name: str = "World"


class GreetingStatus(APIStruct):
    greeted: str = ""
    child: str = ""
    observed_generation: int = 0


class Greeting(Kind, group="example.org", version="v1"):
    spec: GreetingSpec = GreetingSpec()
    status: GreetingStatus = GreetingStatus()


HELLO: Final[dict[str, Any]] = {
    "apiVersion": "example.org/v1",
    "kind": "Greeting",
    "metadata": {"name": "hello"},
    "spec": {"name": "World"},
}
RENAMED: Final = changed(HELLO, {"spec": {"name": "Moon"}})


def greetings(
    reconcile: Callable[[Greeting, Context], None], *steps: Step, settle_seconds: float = 180
) -> Workload:
    """A workload of an operator; no steps = a Greeting is created and changed."""

    def set_up(manager: Manager) -> None:
        builder = controller_for(manager, "greeter").for_(Greeting).owns(ConfigMap)
        builder.writes(ConfigMap, "create", "update", "patch", "delete")
        builder.writes(Greeting, "patch", subresource="status").complete(reconcile)

    return Workload(set_up, steps or (applied(HELLO), RENAMED), settle_seconds=settle_seconds)


def config_map(greeting: Greeting, name: str = "", *, owned: bool = True) -> ConfigMap:
    """The ConfigMap of a Greeting. Args: name "" = the Greeting's."""
    owners = (new_controller_ref(greeting),) if owned else ()
    namespace = greeting.metadata.namespace
    metadata = ObjectMeta(name=name or greeting.metadata.name, namespace=namespace, owner_references=owners)
    return ConfigMap(metadata=metadata, data=FrozenMap({"text": greeting.spec.name}))
