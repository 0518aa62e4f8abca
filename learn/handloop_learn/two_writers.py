"""Writes to an object that another writer has just changed, and what the server does with both changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from handloop.apis.meta import FrozenMap, Kind
from handloop.client.errors import Conflict, Invalid
from handloop.client.resource_client import PatchType
from handloop.controller.foo.types import Foo
from handloop.kinds.core_v1 import Service
from handloop_learn.stage import Stage

NAME: Final = "shared"
MANAGER: Final = "our-controller"
LABELS: Final = FrozenMap({"tier": "web"})


class Change(NamedTuple):
    """Another writer's change. kind, spec: those of the changed object; field, value: what is set in spec."""

    kind: type[Kind]
    spec: dict[str, Any]
    field: str
    value: object


OF_SERVICE: Final = Change(Service, {"ports": [{"port": 80}]}, "sessionAffinity", "ClientIP")
OF_FOO: Final = Change(Foo, {"deploymentName": NAME}, "replicas", 5)


def ways_to_write(stage: Stage, change: Change) -> list[tuple[str, str, str]]:
    """
    Label an object in three ways, each time after another writer has changed its spec.

    Returns: for each way, the request, the answer, and whether the other writer's change was kept or lost.
    """
    kind, path = change.kind, change.kind.resource.path(namespace="default")
    resources, of = stage.client.resource(kind), kind.resource
    document = {"apiVersion": of.api_version, "kind": of.kind, "metadata": {"name": NAME}}

    def blind_update(read: Any) -> object:
        return labelled(stage, replace(read, metadata=replace(read.metadata, resource_version="")))

    def apply(_read: Any) -> object:
        wanted = {**document, "metadata": {"name": NAME, "labels": dict(LABELS)}}
        return resources.patch(
            NAME, wanted, namespace="default", patch_type=PatchType.APPLY, field_manager=MANAGER
        )

    def beside_another(write: Callable[[Any], object]) -> tuple[str, str]:
        stage.send("POST", path, {**document, "spec": change.spec})
        read = resources.get(NAME, namespace="default")
        stage.send("PATCH", f"{path}/{NAME}", {"spec": {change.field: change.value}})
        answer = answer_to(lambda: write(read))
        kept = stage.send("GET", f"{path}/{NAME}")["spec"].get(change.field) == change.value
        stage.send("DELETE", f"{path}/{NAME}")
        return answer, "kept" if kept else "lost"

    return [
        (
            "update, with the version that was read",
            *beside_another(lambda read: labelled(stage, read)),
        ),
        ("update, without a version", *beside_another(blind_update)),
        ("apply of only the label", *beside_another(apply)),
    ]


def labelled(stage: Stage, read: Any) -> object:
    """Update an object with our label. Raises: the same errors as update."""
    return stage.client.resource(type(read)).update(
        replace(read, metadata=replace(read.metadata, labels=LABELS))
    )


def answer_to(write: Callable[[], object]) -> str:
    """Return the server's answer to a write: `accepted`, or its code and reason."""
    try:
        write()
    except (Conflict, Invalid) as error:
        return f"{error.status.code} {error.status.reason}"
    return "accepted"
