"""Two writers of one Service: what an update and what a server-side apply leave of the other's work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from handloop.apis.meta import FrozenMap, ObjectMeta
from handloop.client.errors import Conflict
from handloop.client.resource_client import PatchType
from handloop.kinds.core_v1 import Service, ServicePort, ServiceSpec
from handloop.walkthrough.stage import Stage

NAME: Final = "shared"
MANAGER: Final = "our-controller"
PATH: Final = f"/api/v1/namespaces/default/services/{NAME}"
LABELS: Final = FrozenMap({"tier": "web"})


def two_writers(stage: Stage) -> list[tuple[str, str, str]]:
    """
    Label a Service in three ways; each time another writer has set its session affinity since we read it.

    Returns: the request, the answer, and the affinity afterwards.
    """
    services = stage.client.resource(Service)

    def update(read: Service) -> object:
        return services.update(replace(read, metadata=replace(read.metadata, labels=LABELS)))

    def blind_update(read: Service) -> object:
        return update(replace(read, metadata=replace(read.metadata, resource_version="")))

    def apply(_read: Service) -> object:
        wanted = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": NAME, "labels": dict(LABELS)}}
        return services.patch(
            NAME, wanted, namespace="default", patch_type=PatchType.APPLY, field_manager=MANAGER
        )

    return [
        ("update, with the version that was read", *_beside_another(stage, update)),
        ("update, without a version", *_beside_another(stage, blind_update)),
        ("apply of the label alone", *_beside_another(stage, apply)),
    ]


def _beside_another(stage: Stage, write: Callable[[Service], object]) -> tuple[str, str]:
    services = stage.client.resource(Service)
    metadata = ObjectMeta(name=NAME, namespace="default")
    read = services.create(Service(metadata=metadata, spec=ServiceSpec(ports=(ServicePort(port=80),))))
    stage.send("PATCH", PATH, {"spec": {"sessionAffinity": "ClientIP"}})
    try:
        write(read)
        answer = "accepted"
    except Conflict:
        answer = "409 Conflict"
    left: dict[str, Any] = stage.send("GET", PATH)
    services.delete(NAME, namespace="default")
    return answer, left["spec"]["sessionAffinity"]
