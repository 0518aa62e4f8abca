"""
The revision history of a Deployment, stored in its ReplicaSets: template hashes, revision numbers and
annotations.

A ReplicaSet's name contains a hash of its pod template. The hashed text is formatted as by Go's spew (see
`dump`): the types of fields are in parentheses, fields are in the order of declaration, absent fields have
zero values, and map keys are sorted. A template therefore has the same hash as in a real cluster of the same
version.
Follows: kubernetes pkg/controller/deployment/util/deployment_util.go, pkg/controller ComputeHash,
k8s.io/utils/dump ForHash and go-spew's `%#v`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec

from handloop_sandbox.cluster.cluster_controller import NAME_SUFFIX_ALPHABET
from handloop_sandbox.cluster.rolling_update import MAX_REPLICAS, Bounds, by_age
from handloop_sandbox.cluster.workloads import spec_replicas
from handloop_sandbox.storage.owner_references import controller_reference
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.wire.quantity import int64_amount

ROOT: Final = "api.core.v1.PodTemplateSpec"
_NIL: Final = "<nil>"
_ZEROS: Final = {"string": "", "bool": "false"}


class _Types(msgspec.Struct, frozen=True):
    structs: dict[str, list[tuple[str, str, str]]]
    named: dict[str, str]


@cache
def _types() -> _Types:
    return msgspec.json.decode(
        files("handloop_sandbox.kinds").joinpath("go_types.json").read_bytes(), type=_Types
    )


def dump(template: Mapping[str, Any]) -> str:
    """Return a pod template as text, in the format of Go's spew."""
    return _with_type(ROOT, template)


def _with_type(go_type: str, value: Any) -> str:
    return f"({_shown(go_type)}){_value(go_type, value)}"


def _shown(go_type: str) -> str:
    """Return a type's name as Go prints it: the last part of its package path, and the type's name."""
    prefix_end = max(go_type.rfind("*"), go_type.rfind("]")) + 1
    prefix, name = go_type[:prefix_end], go_type[prefix_end:]
    if prefix.startswith("map["):
        prefix = f"map[{_shown(prefix[4:-1])}]"
    return prefix + ".".join(name.split(".")[-2:])


def _value(go_type: str, value: Any) -> str:
    if go_type.startswith("*"):
        return _NIL if value is None else _value(go_type[1:], value)
    if go_type in _SPECIAL:
        return _SPECIAL[go_type](value)
    go_type = _types().named.get(go_type, go_type)
    if go_type.startswith("[]"):
        return _slice(go_type[2:], value)
    if go_type.startswith("map["):
        return _map(go_type.partition("]")[2], value)
    members = _types().structs.get(go_type)
    if members is not None:
        return _struct(members, value or {})
    return _scalar(go_type, value)


def _struct(members: Sequence[tuple[str, str, str]], value: Mapping[str, Any]) -> str:
    shown = (
        f"{name}:{_with_type(go_type, value.get(json) if json else value)}" for name, go_type, json in members
    )
    return "{" + " ".join(shown) + "}"


def _slice(go_type: str, value: Sequence[Any] | None) -> str:
    return f"[{' '.join(_value(go_type, entry) for entry in value)}]" if value else _NIL


def _map(go_type: str, value: Mapping[str, Any] | None) -> str:
    if not value:
        return _NIL
    return f"map[{' '.join(f'{key}:{_value(go_type, value[key])}' for key in sorted(value))}]"


def _scalar(go_type: str, value: Any) -> str:
    if value is None:
        return _ZEROS.get(go_type, "0")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _time(value: Any) -> str:
    del value  # a template contains no times
    return "{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}"


def _quantity(text: Any) -> str:
    amount = int64_amount(str(text or "0"))
    number = f"value:(int64){amount.value} scale:(resource.Scale){amount.scale}"
    exact = "d:(resource.infDecAmount){Dec:(*inf.Dec)<nil>}"
    spelt = f"s:(string){amount.text} Format:(resource.Format){amount.format}"
    return f"{{i:(resource.int64Amount){{{number}}} {exact} {spelt}}}"


def _int_or_string(value: Any) -> str:
    number, text = (0, value) if isinstance(value, str) else (value or 0, "")
    kind = int(isinstance(value, str))
    return f"{{Type:(intstr.Type){kind} IntVal:(int32){number} StrVal:(string){text}}}"


_SPECIAL: Final[Mapping[str, Callable[[Any], str]]] = {
    "apimachinery.pkg.apis.meta.v1.Time": _time,
    "apimachinery.pkg.api.resource.Quantity": _quantity,
    "apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
}


REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
TEMPLATE_HASH = "pod-template-hash"

_NOT_COPIED = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        "deprecated.deployment.rollback.to",
        REVISION,
        REVISION_HISTORY,
        DESIRED_REPLICAS,
        MAX_REPLICAS,
    }
)
_HISTORY_CHARACTERS = 2000
_FNV_OFFSET, _FNV_PRIME = 0x811C9DC5, 0x01000193
_COUNT_BYTES = 8


def template_hash(template: Mapping[str, Any], collisions: int | None = None) -> str:
    """Hash a template and the collision count together, into up to ten characters that are safe in names."""
    counted = b"" if collisions is None else collisions.to_bytes(_COUNT_BYTES, "little")
    digest = _FNV_OFFSET
    for byte in dump(template).encode() + counted:
        digest = ((digest ^ byte) * _FNV_PRIME) & 0xFFFFFFFF
    return safe_hash(digest)


def safe_hash(digest: int) -> str:
    """Return a number as characters that are safe in names, like apimachinery's rand.SafeEncodeString."""
    return "".join(NAME_SUFFIX_ALPHABET[ord(digit) % len(NAME_SUFFIX_ALPHABET)] for digit in str(digest))


def same_template(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Return whether two pod templates are equal, apart from the hash label."""
    return _without_hash(first) == _without_hash(second)


def _without_hash(template: Mapping[str, Any]) -> dict[str, Any]:
    metadata = dict(template.get("metadata") or {})
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != TEMPLATE_HASH}
    return {**template, "metadata": {**metadata, "labels": labels}}


def find_new(deployment: Object, replica_sets: Sequence[Object]) -> Object | None:
    """Return the oldest ReplicaSet with the Deployment's template, or None."""
    template = deployment["spec"]["template"]
    return next((rs for rs in by_age(replica_sets) if same_template(rs["spec"]["template"], template)), None)


def revision_of(obj: Object) -> int:
    """Return the revision number of a Deployment or ReplicaSet, or 0 if it has none."""
    text = (obj["metadata"].get("annotations") or {}).get(REVISION, "")
    return int(text) if text.isdecimal() else 0


def max_revision(replica_sets: Sequence[Object]) -> int:
    """Return the highest revision of these ReplicaSets, or 0 if there are none."""
    return max((revision_of(replica_set) for replica_set in replica_sets), default=0)


def with_annotations(obj: Object, annotations: Mapping[str, str]) -> Object:
    """Return a copy of obj with these annotations added, or obj itself if it already has them all."""
    present = obj["metadata"].get("annotations") or {}
    merged = {**present, **annotations}
    if merged == present:
        return obj
    return {**obj, "metadata": {**obj["metadata"], "annotations": merged}}


def size_annotations(bounds: Bounds) -> dict[str, str]:
    """Return the annotations that record the Deployment's size, so that a later resize can be detected."""
    return {DESIRED_REPLICAS: str(bounds.replicas), MAX_REPLICAS: str(bounds.most)}


def new_annotations(deployment: Object, existing: Object | None, revision: int) -> dict[str, str]:
    """
    Return the annotations for the new ReplicaSet: the Deployment's annotations and its own revision.

    A revision number never decreases. If an old ReplicaSet becomes the new one again, it gets the next
    number, and its earlier numbers are kept in its history.
    """
    copied = deployment["metadata"].get("annotations") or {}
    annotations = {key: value for key, value in copied.items() if key not in _NOT_COPIED}
    former = revision_of(existing) if existing else 0
    if former < revision:
        annotations[REVISION] = str(revision)
        if existing and former:
            annotations[REVISION_HISTORY] = _history(existing, former)
    return annotations


def _history(replica_set: Object, former: int) -> str:
    numbers = [n for n in replica_set["metadata"]["annotations"].get(REVISION_HISTORY, "").split(",") if n]
    numbers.append(str(former))
    while len(numbers) > 1 and len(",".join(numbers)) > _HISTORY_CHARACTERS:
        del numbers[0]
    return ",".join(numbers)


def new_replica_set(deployment: Object, *, replicas: int, annotations: Mapping[str, str]) -> Object:
    """Return the ReplicaSet to create for a Deployment's template, before the API server adds defaults."""
    spec = deployment["spec"]
    hashed = template_hash(spec["template"], (deployment.get("status") or {}).get("collisionCount"))
    metadata = spec["template"].get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), TEMPLATE_HASH: hashed}
    selector = spec["selector"]
    matched = {**(selector.get("matchLabels") or {}), TEMPLATE_HASH: hashed}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{deployment['metadata']['name']}-{hashed}",
            "namespace": deployment["metadata"]["namespace"],
            "labels": labels,
            "annotations": dict(annotations),
            "ownerReferences": [controller_reference(deployment)],
        },
        "spec": {
            "replicas": replicas,
            **({"minReadySeconds": spec["minReadySeconds"]} if spec.get("minReadySeconds") else {}),
            "selector": {**selector, "matchLabels": matched},
            "template": {**spec["template"], "metadata": {**metadata, "labels": labels}},
        },
    }


def expendable(deployment: Object, old: Sequence[Object]) -> list[Object]:
    """Return the empty old ReplicaSets beyond revisionHistoryLimit, lowest revision first."""
    limit = deployment["spec"].get("revisionHistoryLimit")
    if limit is None:
        return []
    alive = [rs for rs in old if not rs["metadata"].get("deletionTimestamp")]
    ordered = sorted(by_age(alive), key=revision_of)
    return [rs for rs in ordered[: max(0, len(alive) - int(limit))] if _is_empty(rs)]


def _is_empty(replica_set: Object) -> bool:
    status = replica_set.get("status") or {}
    observed = status.get("observedGeneration", 0) >= replica_set["metadata"].get("generation", 0)
    return not status.get("replicas") and spec_replicas(replica_set) == 0 and observed
