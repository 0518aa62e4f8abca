"""Reads the objects after a run, without the values that differ between any two good runs."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from handloop_explore.administrator import Administrator
from handloop_explore.difference import UID, are_conditions
from handloop_explore.ignored import Ignored
from handloop_explore.record import key_of
from handloop_explore.rivals import RIVAL

MADE_BY_CLUSTER: Final = "madeByCluster"
_METADATA: Final = ("annotations", "finalizers", "deletionTimestamp")
_TOKENS: Final = re.compile(r"\bkube-api-access-\w{5}\b")
"""Names of a Pod's token volume."""
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_REVISION: Final = "deployment.kubernetes.io/revision"
# This matches a uid, seconds, bytes, a hash, or five letters after a dash.
_CHANCE: Final = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{6,}|(?<=-)(?=[a-f]*\d)[0-9a-f]{6,}(?=[-.]|$)"
    r"|(?<=-)(?=[a-z]*\d)[a-z0-9]{5,10}$|(?<=-)[bcdfghjklmnpqrstvwxz2456789]{5}$"
)
# The server chooses or counts these. The pull policy depends on the first image's tag.
_COUNTED: Final = (
    "resourceVersion",
    "uid",
    "observedGeneration",
    "clusterIP",
    "clusterIPs",
    "nodePort",
    "nodeName",
    _REVISION,
    "imagePullPolicy",
)


def end_state(
    cluster: Administrator,
    kinds: Iterable[Any],
    reconciled: Collection[Any],
    more: Iterable[dict[str, Any]] = (),
    made_by_cluster: Collection[str] = (),
    *,
    gone: Mapping[str, str] = MappingProxyType({}),
    ignore: Sequence[Ignored] = (),
) -> Mapping[str, dict[str, Any]]:
    """
    Return the objects of some kinds by `Kind namespace/name`, without values that differ between good runs.

    Args: reconciled: kinds whose status the operator writes; the status of other kinds is omitted. more:
    objects of further kinds. made_by_cluster: uids of objects that the cluster's controllers created;
    these get MADE_BY_CLUSTER in their metadata, and are used only for their names. gone: the keys of deleted
    objects, by uid. ignore: the fields and objects that the author excludes.
    """
    listed = {key_of(obj): (obj, kind in reconciled) for kind in kinds for obj in cluster.objects(kind)}
    listed = {key_of(obj): (obj, False) for obj in more} | listed
    uids = {uid: f"the uid of the deleted {key}" for uid, key in gone.items()}
    uids |= {obj["metadata"]["uid"]: f"the uid of {key}" for key, (obj, _) in listed.items()}
    found = {}
    for key, (obj, with_status) in listed.items():
        ignored = [one for one in ignore if one.fits(obj["kind"])]
        if any(not one.path for one in ignored):
            continue
        plain = _plain(obj, uids, with_status=with_status)
        for one in ignored:
            plain = one.without(plain)
        found[key] = plain
        if obj["metadata"]["uid"] in made_by_cluster:
            plain["metadata"][MADE_BY_CLUSTER] = True
    return found


def plain_name(key: str) -> str:
    """Return a key, with `*` for each part that seems to depend on chance or the time."""
    return _CHANCE.sub("*", key)


def renamed(found: Mapping[str, dict[str, Any]], good: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return a run's objects. Those with generated names receive the names that they have in a good run."""
    free = [key for key in good if key not in found and plain_name(key) != key]
    names: dict[str, str] = {}
    for key in sorted(found.keys() - good.keys()):
        alike = [other for other in free if plain_name(other) == plain_name(key)]
        if alike:
            chosen = next((other for other in alike if good[other] == found[key]), alike[0])
            free.remove(chosen)
            names[key.rpartition("/")[2]] = chosen.rpartition("/")[2]
    if not names:
        return dict(found)
    # Rename all at once, because two objects may have swapped their names.
    found_names = re.compile("|".join(map(re.escape, sorted(names, reverse=True))))
    text = found_names.sub(lambda name: names[name[0]], json.dumps(found))
    called: dict[str, dict[str, Any]] = _sorted_names(json.loads(text), names.values())
    return called


def _sorted_names(value: Any, names: Collection[str]) -> Any:
    """Return a document in which each list that contains a renamed object's name is sorted."""
    if isinstance(value, dict):
        return {key: _sorted_names(one, names) for key, one in value.items()}
    if isinstance(value, list):
        if any(isinstance(one, str) and one in names for one in value):
            return sorted(value)
        return [_sorted_names(one, names) for one in value]
    return value


def _plain(obj: dict[str, Any], uids: Mapping[str, str], *, with_status: bool) -> dict[str, Any]:
    metadata = obj["metadata"]
    kept = {key: without_counts(metadata[key], uids) for key in _METADATA if metadata.get(key)}
    kept["owners"] = [f"{one['kind']} {one['name']}" for one in metadata.get("ownerReferences", ())]
    labels = {key: value for key, value in metadata.get("labels", {}).items() if key != RIVAL}
    kept["labels"] = without_counts(labels, uids)
    left_out = {"metadata", "apiVersion", "kind"} | (set() if with_status else {"status"})
    rest = {key: without_counts(value, uids) for key, value in obj.items() if key not in left_out}
    return {**rest, "metadata": kept}


def without_counts(value: Any, uids: Mapping[str, str] = MappingProxyType({})) -> Any:
    """
    Return a document without times, and without values that the server chooses or counts.

    Args: uids: the replacement for each uid.
    """
    if isinstance(value, dict):
        return {key: without_counts(one, uids) for key, one in value.items() if key not in _COUNTED}
    if isinstance(value, list):
        plain = [without_counts(one, uids) for one in value]
        # The order of conditions has no meaning.
        return sorted(plain, key=lambda one: str(one.get("type"))) if are_conditions(plain) else plain
    if isinstance(value, str):
        value = _TOKENS.sub("kube-api-access", _TIME.sub("TIME", value))
        return UID.sub(lambda found: uids.get(found[0], found[0]), value) if uids else value
    return value
