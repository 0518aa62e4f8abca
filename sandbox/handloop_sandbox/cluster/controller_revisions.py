"""
The revision history of a StatefulSet or DaemonSet, stored in ControllerRevisions.

Follows: kubernetes pkg/controller/history/controller_history.go.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from handloop_sandbox.cluster.adoption import controlled
from handloop_sandbox.cluster.cluster_controller import View, Write
from handloop_sandbox.cluster.revisions import safe_hash
from handloop_sandbox.storage.owner_references import controller_reference
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.wire.resource import GroupResource

CONTROLLER_REVISIONS: Final = GroupResource("apps", "controllerrevisions")
REVISION_LABEL: Final = "controller-revision-hash"

_FNV_OFFSET, _FNV_PRIME = 0x811C9DC5, 0x01000193
_REPLACE: Final = {"$patch": "replace"}
_ESCAPED: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


class History(NamedTuple):
    """An owner's revisions sorted by number, the one for its current template, and the writes to apply."""

    revisions: list[Object]
    update: Object
    writes: list[Write]


def history(view: View, owner: Object, made: Object) -> History:
    """Return the history in which made, or an existing revision with the same data, is the latest one."""
    found = sorted(
        controlled(view.state, owner, CONTROLLER_REVISIONS), key=lambda each: int(each["revision"])
    )
    number = 1 + max((int(each["revision"]) for each in found), default=0)
    same = next((each for each in reversed(found) if each["data"] == made["data"]), None)
    if same is None:
        made = {**made, "revision": number}
        return History([*found, made], made, [Write.of("create", CONTROLLER_REVISIONS, made)])
    if same is found[-1]:
        return History(found, same, [])
    again = {**same, "revision": number}
    others = [each for each in found if each is not same]
    return History([*others, again], again, [Write.of("update", CONTROLLER_REVISIONS, again)])


def expendable(owner: Object, known: Sequence[Object], used: Collection[str]) -> list[Write]:
    """Return the writes that delete the unused revisions beyond revisionHistoryLimit, oldest first."""
    unused = [each for each in known if each["metadata"]["name"] not in used]
    limit = owner["spec"].get("revisionHistoryLimit", 10)
    return [Write.of("delete", CONTROLLER_REVISIONS, each) for each in unused[: max(0, len(unused) - limit)]]


def new_revision(
    owner: Object, *, name: str, label: tuple[str, str], annotations: Mapping[str, str] | None = None
) -> Object:
    """Return a new revision with the owner's template. label is the hash label, as a name and a value."""
    template = owner["spec"]["template"]
    labels = {**((template.get("metadata") or {}).get("labels") or {}), label[0]: label[1]}
    metadata = {"name": name, "namespace": owner["metadata"]["namespace"], "labels": labels}
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            **metadata,
            **({"annotations": dict(annotations)} if annotations else {}),
            "ownerReferences": [controller_reference(owner)],
        },
        "data": _data(template),
        "revision": 0,
    }


def _data(template: Mapping[str, Any]) -> Object:
    return {"spec": {"template": {**template, **_REPLACE}}}


def template_of(revision: Object) -> Object:
    """Return the pod template that a revision contains."""
    template = revision["data"]["spec"]["template"]
    return {name: value for name, value in template.items() if name not in _REPLACE}


def data_hash(template: Mapping[str, Any], collisions: int) -> str:
    """Return the hash of a template's JSON. The names of a StatefulSet's revisions contain it."""
    text = json.dumps(_data(template), separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    for character, escaped in _ESCAPED.items():
        text = text.replace(character, escaped)
    digest = _FNV_OFFSET
    for byte in f"{text}{collisions}".encode():
        digest = ((digest * _FNV_PRIME) & 0xFFFFFFFF) ^ byte
    return safe_hash(digest)
