"""
Validation rules for PersistentVolumes, their claims, storage classes and volume attributes classes.

Follows: kubernetes pkg/apis/core/validation/validation.go (ValidatePersistentVolume and
ValidatePersistentVolumeClaim), pkg/apis/storage/validation.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from handloop_sandbox.grammar.quantity import parse_quantity
from handloop_sandbox.rules.node_affinity_rules import node_selector
from handloop_sandbox.wire import names
from handloop_sandbox.wire.causes import forbidden_field, invalid_value, not_supported, required
from handloop_sandbox.wire.field_rules import (
    IMMUTABLE,
    Object,
    all_invalid,
    difference,
    entries,
    immutable,
    label_selector,
    part,
    sorted_map,
)
from handloop_sandbox.wire.status import Cause

_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_ALONE: Final = "ReadWriteOncePod"
_VOLUME_MODES: Final = ("Block", "Filesystem")
_POSITIVE: Final = "must be greater than zero"
_SETTINGS: Final = frozenset(
    {
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    }
)
"""The fields of a volume's spec that are not volume sources."""
_NEEDED: Final = {
    "csi": ("driver", "volumeHandle"),
    "nfs": ("server", "path"),
    "local": ("path",),
    "hostPath": ("path",),
}
_CLAIM_STAYS: Final = (
    "spec is immutable after creation except resources.requests "
    "and volumeAttributesClassName for bound claims"
)
_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_DEPRECATED: Final = (
    f'metadata.annotations[{_CLASS}]: deprecated since v1.8; use "storageClassName" attribute instead'
)


def claim(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a PersistentVolumeClaim."""
    if subresource == "status":
        return []
    spec = part(new, "spec")
    causes = claim_spec("spec", spec)
    return causes if old is None else causes + _claim_update(spec, part(old, "spec"), part(new, "status"))


def claim_spec(path: str, spec: Object) -> list[Cause]:
    """Return the validation errors for the spec of a volume claim or of a claim template."""
    causes = label_selector(f"{path}.selector", spec.get("selector"))
    causes += _access_modes(path, spec, "at least 1 access mode is required")
    requests = part(spec, "resources", "requests")
    if "storage" not in requests:
        causes.append(required(f"{path}.resources[storage]"))
    else:
        causes += _positive(f"{path}.resources[storage]", requests["storage"])
    given = {name: spec[name] for name in ("dataSource", "dataSourceRef") if spec.get(name) is not None}
    for name, source in given.items():
        causes += _data_source(f"{path}.{name}", source)
    if len(given) > 1 and given["dataSource"] != given["dataSourceRef"]:
        causes.append(invalid_value(path, {}, "must match dataSourceRef"))
    return causes + _shared(path, spec)


def _data_source(path: str, source: Object) -> list[Cause]:
    group, kind = source.get("apiGroup") or "", source.get("kind", "")
    causes = [required(f"{path}.{name}") for name in ("name", "kind") if not source.get(name)]
    if not group and kind != "PersistentVolumeClaim":
        text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        causes.append(invalid_value(path, kind, text))
    return causes + (all_invalid(f"{path}.apiGroup", group, names.dns_1123_subdomain(group)) if group else [])


def _claim_update(new: Object, old: Object, status: Object) -> list[Cause]:
    """Return the errors for an update of a claim, most of whose spec is immutable."""
    free = {"volumeName"} if not old.get("volumeName") else set()
    free |= {"storageClassName"} if old.get("storageClassName") is None else set()
    is_bound = status.get("phase") == "Bound"
    free |= {"volumeAttributesClassName"} if is_bound else set()
    before, after = (_kept(spec, free, grows=is_bound) for spec in (old, new))
    causes: list[Cause] = []
    if before != after:
        text = f"{_CLAIM_STAYS}\n{difference(before, after)}"
        causes.append(forbidden_field("spec", text))
    sizes = [part(spec, "resources", "requests").get("storage", "0") for spec in (old, new)]
    if parse_quantity(str(sizes[1])) < parse_quantity(str(sizes[0])):
        least = part(status, "capacity").get("storage", "0")
        if parse_quantity(str(sizes[1])) <= parse_quantity(str(least)):
            text = "field can not be less than status.capacity"
            causes.append(forbidden_field("spec.resources.requests.storage", text))
    return causes + immutable("volumeMode", new.get("volumeMode"), old.get("volumeMode"))


def _kept(spec: Object, free: Collection[str], *, grows: bool) -> dict[str, Any]:
    kept = {name: value for name, value in spec.items() if name not in free}
    if grows and "resources" in kept:
        requests = {**part(spec, "resources", "requests"), "storage": ""}
        kept["resources"] = {**kept["resources"], "requests": requests}
    return kept


def volume(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a PersistentVolume."""
    if subresource == "status":
        return []
    spec = part(new, "spec")
    causes = _volume(spec)
    # Kubernetes validates a changed volume twice
    return causes if old is None else causes + causes + _volume_update(spec, part(old, "spec"))


def _volume(spec: Object) -> list[Cause]:
    causes = _access_modes("spec", spec, "")
    capacity = spec.get("capacity")
    if not capacity:
        causes.append(required("spec.capacity"))
    if not capacity or list(capacity) != ["storage"]:
        causes.append(not_supported("spec.capacity", capacity, ("storage",)))
    else:
        causes += _positive("spec.capacity[storage]", capacity["storage"])
    policy = spec.get("persistentVolumeReclaimPolicy")
    supported = ("Delete", "Recycle", "Retain")
    if policy and policy not in supported:
        causes.append(not_supported("spec.persistentVolumeReclaimPolicy", policy, supported))
    if (wanted := part(spec, "nodeAffinity").get("required")) is not None:
        causes += node_selector("spec.nodeAffinity.required", wanted)
    return causes + _sources(spec) + _shared("spec", spec)


def _volume_update(new: Object, old: Object) -> list[Cause]:
    """Return the errors for changes to a volume's immutable fields, such as its source and node affinity."""
    before, after = (
        {name: value for name, value in spec.items() if name not in _SETTINGS} for spec in (old, new)
    )
    causes: list[Cause] = []
    if before != after:
        text = f"spec.persistentvolumesource is immutable after creation\n{difference(before, after)}"
        causes.append(forbidden_field("spec.persistentvolumesource", text))
    if old.get("nodeAffinity") is not None and new.get("nodeAffinity") != old["nodeAffinity"]:
        text = f"{IMMUTABLE}, except for updating from beta label to GA"
        causes.append(invalid_value("nodeAffinity", new.get("nodeAffinity"), text))
    attributes = "volumeAttributesClassName"
    if old.get(attributes) is not None and new.get(attributes) is None:
        text = "update from non-nil value to nil is forbidden"
        causes.append(forbidden_field(f"spec.{attributes}", text))
    return causes + immutable("volumeMode", new.get("volumeMode"), old.get("volumeMode"))


def storage_class(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a StorageClass, most of whose fields are immutable."""
    del subresource
    causes = _provisioner("provisioner", new.get("provisioner", ""))
    for name, supported in (("reclaimPolicy", ("Delete", "Retain")), ("volumeBindingMode", _BINDING)):
        if new.get(name) and new[name] not in supported:
            causes.append(not_supported(name, new[name], supported))
    if "" in part(new, "parameters"):
        causes.append(invalid_value("parameters", "", "field can not be empty."))
    for index, topology in enumerate(entries(new, "allowedTopologies")):
        for nth, term in enumerate(entries(topology, "matchLabelExpressions")):
            if not entries(term, "values"):
                causes.append(required(f"allowedTopologies[{index}].matchLabelExpressions[{nth}].values"))
    if old is None:
        return causes
    parameters = sorted_map(part(new, "parameters")) or {}
    if parameters != part(old, "parameters"):
        causes.append(invalid_value("parameters", parameters, IMMUTABLE))
    for name in ("provisioner", "reclaimPolicy", "volumeBindingMode"):
        causes += immutable(name, new.get(name, ""), old.get(name, ""))
    return causes


def attributes_class(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a VolumeAttributesClass, which is immutable."""
    del subresource
    causes = _provisioner("driverName", new.get("driverName", ""))
    if not part(new, "parameters"):
        causes.append(required("parameters", "must contain at least one key/value pair"))
    if "" in part(new, "parameters"):
        causes.append(invalid_value("parameters", "", "field can not be empty."))
    return causes + [
        forbidden_field(name, f"updates to {name} are forbidden.")
        for name in ("driverName", "parameters")
        if old is not None and new.get(name) != old.get(name)
    ]


def _provisioner(path: str, given: str) -> list[Cause]:
    low = given.lower()
    return all_invalid(path, low, names.qualified_name(low)) if given else [required(path)]


_BINDING: Final = ("Immediate", "WaitForFirstConsumer")


def claim_notices(obj: Object, _old: Object | None) -> list[str]:
    """Return the warnings about a claim."""
    return [_DEPRECATED] if _CLASS in part(obj, "metadata", "annotations") else []


def _access_modes(path: str, spec: Object, needed: str) -> list[Cause]:
    modes = list(entries(spec, "accessModes"))
    if not modes:
        return [required(f"{path}.accessModes", needed)]
    causes = [not_supported(f"{path}.accessModes", mode, _MODES) for mode in modes if mode not in _MODES]
    if _ALONE in modes and len(modes) > 1:
        text = f"may not use {_ALONE} with other access modes"
        causes.append(forbidden_field(f"{path}.accessModes", text))
    return causes


def _positive(path: str, given: Any) -> list[Cause]:
    return [] if parse_quantity(str(given)) > 0 else [invalid_value(path, str(given), _POSITIVE)]


def _shared(path: str, spec: Object) -> list[Cause]:
    """Return the errors for the storage class, volume mode and attributes class of a claim or volume."""
    causes: list[Cause] = []
    if name := spec.get("storageClassName"):
        causes += all_invalid(f"{path}.storageClassName", name, names.dns_1123_subdomain(name))
    mode = spec.get("volumeMode")
    if mode is not None and mode not in _VOLUME_MODES:
        causes.append(not_supported(f"{path}.volumeMode", mode, _VOLUME_MODES))
    if attributes := spec.get("volumeAttributesClassName"):
        causes += all_invalid(
            f"{path}.volumeAttributesClassName", attributes, names.dns_1123_subdomain(attributes)
        )
    return causes


def _sources(spec: Object) -> list[Cause]:
    """Return the errors for a volume's source. Exactly one is required, with all its required fields."""
    found = sorted(name for name in spec if name not in _SETTINGS and isinstance(spec[name], dict))
    if not found:
        return [required("spec", "must specify a volume type")]
    causes = [
        forbidden_field(f"spec.{name}", "may not specify more than 1 volume type") for name in found[1:]
    ]
    kind, source = found[0], spec[found[0]]
    causes += [required(f"spec.{kind}.{name}") for name in _NEEDED.get(kind, ()) if not source.get(name)]
    path = source.get("path", "")
    if kind == "nfs" and not path.startswith("/"):
        causes.append(invalid_value("spec.nfs.path", path, "must be an absolute path"))
    if kind in {"hostPath", "local"} and ".." in path.split("/"):
        causes.append(invalid_value(f"spec.{kind}.path", path, "must not contain '..'"))
    if kind == "local" and not part(spec, "nodeAffinity"):
        causes.append(required("spec.nodeAffinity", "Local volume requires node affinity"))
    if kind == "hostPath" and path == "/" and spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        text = "may not be 'recycle' for a hostPath mount of '/'"
        causes.append(forbidden_field("spec.persistentVolumeReclaimPolicy", text))
    return causes
