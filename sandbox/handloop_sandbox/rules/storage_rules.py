"""
Volumes, claims and storage classes.

Follows: kubernetes pkg/apis/core/validation/validation.go (ValidatePersistentVolume and
ValidatePersistentVolumeClaim), pkg/apis/storage/validation.
"""

from __future__ import annotations

from typing import Any, Final

from handloop_sandbox.grammar.quantity import parse_quantity
from handloop_sandbox.wire import names
from handloop_sandbox.wire.causes import forbidden_field, invalid_value, not_supported, required
from handloop_sandbox.wire.field_rules import Object, all_invalid, entries, immutable, label_selector, part
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
"""The members of a volume's spec that are no source."""
_NEEDED: Final = {
    "csi": ("driver", "volumeHandle"),
    "nfs": ("server", "path"),
    "local": ("path",),
    "hostPath": ("path",),
}
_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_DEPRECATED: Final = (
    f'metadata.annotations[{_CLASS}]: deprecated since v1.8; use "storageClassName" attribute instead'
)


def claim(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """A PersistentVolumeClaim."""
    if subresource == "status":
        return []
    spec = part(new, "spec")
    causes = label_selector("spec.selector", spec.get("selector"))
    causes += _access_modes(spec, "at least 1 access mode is required")
    requests = part(spec, "resources", "requests")
    if "storage" not in requests:
        causes.append(required("spec.resources[storage]"))
    else:
        causes += _positive("spec.resources[storage]", requests["storage"])
    causes += _shared(spec)
    return (
        causes
        if old is None
        else causes
        + immutable("spec.accessModes", spec.get("accessModes"), part(old, "spec").get("accessModes"))
    )


def volume(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """A PersistentVolume."""
    del old
    if subresource == "status":
        return []
    spec = part(new, "spec")
    causes = _access_modes(spec, "")
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
    return causes + _sources(spec) + _shared(spec)


def storage_class(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """A StorageClass, of which almost nothing changes."""
    del subresource
    causes: list[Cause] = []
    provisioner = new.get("provisioner", "")
    if old is None:
        low = provisioner.lower()
        causes += (
            all_invalid("provisioner", low, names.qualified_name(low))
            if provisioner
            else [required("provisioner")]
        )
    for name, supported in (("reclaimPolicy", ("Delete", "Retain")), ("volumeBindingMode", _BINDING)):
        if new.get(name) and new[name] not in supported:
            causes.append(not_supported(name, new[name], supported))
    if "" in part(new, "parameters"):
        causes.append(invalid_value("parameters", "", "field can not be empty."))
    for index, topology in enumerate(entries(new, "allowedTopologies")):
        for nth, term in enumerate(entries(topology, "matchLabelExpressions")):
            if not entries(term, "values"):
                causes.append(required(f"allowedTopologies[{index}].matchLabelExpressions[{nth}].values"))
    return causes


_BINDING: Final = ("Immediate", "WaitForFirstConsumer")


def claim_notices(obj: Object, _old: Object | None) -> list[str]:
    """The warnings about a claim."""
    return [_DEPRECATED] if _CLASS in part(obj, "metadata", "annotations") else []


def _access_modes(spec: Object, needed: str) -> list[Cause]:
    modes = list(entries(spec, "accessModes"))
    if not modes:
        return [required("spec.accessModes", needed)]
    causes = [not_supported("spec.accessModes", mode, _MODES) for mode in modes if mode not in _MODES]
    if _ALONE in modes and len(modes) > 1:
        text = f"may not use {_ALONE} with other access modes"
        causes.append(forbidden_field("spec.accessModes", text))
    return causes


def _positive(path: str, given: Any) -> list[Cause]:
    return [] if parse_quantity(str(given)) > 0 else [invalid_value(path, str(given), _POSITIVE)]


def _shared(spec: Object) -> list[Cause]:
    """The class and the mode."""
    causes: list[Cause] = []
    if name := spec.get("storageClassName"):
        causes += all_invalid("spec.storageClassName", name, names.dns_1123_subdomain(name))
    mode = spec.get("volumeMode")
    if mode is not None and mode not in _VOLUME_MODES:
        causes.append(not_supported("spec.volumeMode", mode, _VOLUME_MODES))
    if attributes := spec.get("volumeAttributesClassName"):
        causes += all_invalid(
            "spec.volumeAttributesClassName", attributes, names.dns_1123_subdomain(attributes)
        )
    return causes


def _sources(spec: Object) -> list[Cause]:
    """Where a volume is: one place, with what it needs."""
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
