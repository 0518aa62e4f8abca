"""What is left after a run, without what differs between two runs that both went well."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from handloop.testing.explore.administrator import Administrator
from handloop.testing.explore.rivals import RIVAL

_METADATA: Final = ("annotations", "finalizers", "deletionTimestamp")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_REVISION: Final = "deployment.kubernetes.io/revision"
# chosen by the server, or counted by it; the policy follows the tag of the first image
_COUNTED: Final = (
    "resourceVersion",
    "uid",
    "observedGeneration",
    "clusterIP",
    "clusterIPs",
    "nodePort",
    _REVISION,
    "imagePullPolicy",
)


def end_state(
    cluster: Administrator, kinds: Iterable[Any], reconciled: Collection[Any]
) -> Mapping[str, dict[str, Any]]:
    """
    The objects of some kinds, by `Kind namespace/name`, as far as two good runs agree on them.

    Args: reconciled = the kinds whose status is the operator's to write; of others it is left out.
    """
    found = {}
    for kind in kinds:
        for obj in cluster.objects(kind):
            metadata = obj["metadata"]
            key = f"{kind.resource.kind} {metadata.get('namespace', '')}/{metadata['name']}"
            found[key] = _plain(obj, with_status=kind in reconciled)
    return found


def _plain(obj: dict[str, Any], *, with_status: bool) -> dict[str, Any]:
    metadata = obj["metadata"]
    kept = {key: _without_counts(metadata[key]) for key in _METADATA if metadata.get(key)}
    kept["owners"] = [f"{one['kind']} {one['name']}" for one in metadata.get("ownerReferences", ())]
    kept["labels"] = {key: value for key, value in metadata.get("labels", {}).items() if key != RIVAL}
    left_out = {"metadata", "apiVersion", "kind"} | (set() if with_status else {"status"})
    rest = {key: _without_counts(value) for key, value in obj.items() if key not in left_out}
    return {**rest, "metadata": kept}


def _without_counts(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_counts(one) for key, one in value.items() if key not in _COUNTED}
    if isinstance(value, list):
        plain = [_without_counts(one) for one in value]
        # conditions are a map by type
        return sorted(plain, key=lambda one: str(one.get("type"))) if _are_conditions(plain) else plain
    if isinstance(value, str):
        return _TIME.sub("TIME", value)
    return value


def _are_conditions(values: list[Any]) -> bool:
    return bool(values) and all(isinstance(one, dict) and {"type", "status"} <= one.keys() for one in values)
