"""
An operator whose work goes from one process to another, with all that it could remember wrongly.

It applies a child, makes another one without a name, and has a handler of somebody else that raises; its
objects change, change back, and are deleted and made again. Slots come to the second process, and under a
plan they leave and come back.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from handloop import (
    APIStruct,
    Context,
    FrozenMap,
    Kind,
    Manager,
    NotFound,
    ObjectMeta,
    ResourceEventHandlerFuncs,
    controller_for,
    is_controlled_by,
    with_controller,
)
from handloop.kinds.core_v1 import ConfigMap, Secret
from handloop_explore import Step, Workload, applied, changed, deleted, settled
from handloop_explore.cluster import VirtualCluster
from support.builders.workloads import SHARDS, TEAMS


class BoxSpec(APIStruct):
    keys: tuple[str, ...] = ()


class Box(Kind, group="example.org", version="v1"):
    spec: BoxSpec = BoxSpec()


BOXES: Final[list[dict[str, Any]]] = [
    {
        "apiVersion": "example.org/v1",
        "kind": "Box",
        "metadata": {"name": "a", "namespace": one},
        "spec": {"keys": ["a"]},
    }
    for one in TEAMS.values()
]
ODD: Final[dict[str, Any]] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "odd"}}
_THERE_BEFORE: Final = [
    applied(ODD),
    *(
        applied({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": one}})
        for one in TEAMS.values()
    ),
]
_SOON_SECONDS: Final = 0.3
"""Shorter than a thread may be slow."""


def reconcile(box: Box, context: Context) -> None:
    """A child with the wanted keys, and no others; and one without a name."""
    data = FrozenMap(dict.fromkeys(box.spec.keys, "x"))
    config = context.apply(ConfigMap.named(box, data=data), owner=box)
    _keep_one_without_a_name(box, context, config.metadata.labels)


def _keep_one_without_a_name(box: Box, context: Context, labels: FrozenMap) -> None:
    """
    It is found by its owner; of two the one that comes last goes.

    Args: labels of a child that is applied; with slots by UID, replicas find their children by them.
    """
    secrets, namespace = context.client.resource(Secret), box.metadata.namespace
    found = [
        one for one in context.lister_for(Secret).list(namespace=namespace) if is_controlled_by(one, box)
    ]
    if not found:
        metadata = ObjectMeta(generate_name=f"{box.metadata.name}-", namespace=namespace, labels=labels)
        secrets.create(with_controller(Secret(metadata=metadata), box))
    for spare in sorted(found, key=lambda one: one.metadata.name)[1:]:
        with suppress(NotFound):
            secrets.delete(spare.metadata.name, namespace=namespace)


def raises(config: ConfigMap) -> None:
    """A handler of somebody else, which cannot do with one object."""
    if config.metadata.name == "odd":
        raise ValueError("an odd object")


def set_up(manager: Manager) -> None:
    """See the head of the file."""
    manager.informer_for(ConfigMap).add_event_handler(ResourceEventHandlerFuncs(add_func=raises))
    builder = controller_for(manager, "boxes").for_(Box).owns(ConfigMap).owns(Secret)
    builder.writes(ConfigMap, "create", "patch", "delete").writes(Secret, "create", "delete").complete(
        reconcile
    )


def _with_keys(boxes: Sequence[dict[str, Any]], *keys: str) -> list[Step]:
    return [changed(box, {"spec": {"keys": list(keys)}}) for box in boxes]


def _made_again(box: dict[str, Any]) -> Step:
    """Delete it, and make it anew so soon that a worker may be between the two."""

    def do(cluster: VirtualCluster) -> None:
        cluster.send("DELETE", cluster.path_of(box))
        made_at = cluster.path_of(box, named=False)
        cluster.later("user", _SOON_SECONDS, lambda: cluster.send("POST", made_at, box))

    return Step(f"make Box {box['metadata']['namespace']}/a again", do)


def _life(boxes: Sequence[dict[str, Any]]) -> list[Step]:
    """A slot has come to the second process by the first settled()."""
    return [
        *_THERE_BEFORE,
        *map(applied, boxes),
        settled(),
        *_with_keys(boxes, "a", "revoked"),
        *_with_keys(boxes, "a"),
        settled(),
        *map(_made_again, [*boxes, *boxes]),
        settled(),
        *map(deleted, boxes[:1]),
    ]


_LIFE: Final = Workload(set_up, _life(BOXES), replicas=2, shards=SHARDS, seconds=4, settle_seconds=90)
_TAKEOVER: Final = replace(_LIFE, steps=[*_THERE_BEFORE, settled(), *map(applied, BOXES), settled()])
"""Short: under `behind` and `behind-crash` the caches of who takes over lack what was written before."""
HANDOVERS: Final[dict[str, Workload]] = {
    "slots-by-namespace": _LIFE,
    "slots-by-uid": replace(_LIFE, shards=replace(SHARDS, by="uid")),
    "a-lead": replace(_LIFE, shards=None),
    "takeover-of-slots": _TAKEOVER,
    "takeover-of-a-lead": replace(_TAKEOVER, shards=None),
}
