"""
What claims, volumes and storage classes may look like, and what of them may change.

Follows: kubernetes pkg/apis/{core,storage}/validation.
"""

from __future__ import annotations

from typing import Any, Final

from handloop.apis.quantity import parse_quantity
from handloop.sandbox.wire import names
from handloop.sandbox.wire.causes import forbidden_field, invalid_value, not_supported, required
from handloop.sandbox.wire.field_rules import Object, all_invalid, entries, immutable, one_of, part
from handloop.sandbox.wire.status import Cause

_KEPT: Final = (
    "spec is immutable after creation except resources.requests "
    "and volumeAttributesClassName for bound claims"
)
_SOURCE_KEPT: Final = "spec.persistentvolumesource is immutable after creation"
_RECLAIM: Final = ("Delete", "Retain")
_VOLUME_RECLAIM: Final = ("Delete", "Recycle", "Retain")
_BINDING: Final = ("Immediate", "WaitForFirstConsumer")
_SETTLED: Final = (
    ("parameters", None),
    ("provisioner", ""),
    ("reclaimPolicy", None),
    ("volumeBindingMode", None),
)
"""What stays of a StorageClass, and what it is when absent."""
_MODES: Final = ("Block", "Filesystem")
_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_NO_SOURCE: Final = frozenset(
    (
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    )
)
"""Members of a volume's spec that do not say what it is made of; every other one does."""


def claim(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """A PersistentVolumeClaim: what it asks for stays, except for more storage once it is bound."""
    if subresource == "status":
        return []
    spec = part(new, "spec")
    causes = claim_spec("spec", spec)
    return causes if old is None else causes + _claim_update(new, old)


def _claim_update(new: Object, old: Object) -> list[Cause]:
    spec, before = dict(part(new, "spec")), dict(part(old, "spec"))
    if not before.get("volumeName"):
        before["volumeName"] = spec.get("volumeName")
    asked, wanted = _storage(part(before, "resources", "requests")), part(spec, "resources", "requests")
    causes = []
    if part(new, "status").get("phase") == "Bound" and wanted:
        spec["resources"] = {**spec["resources"], "requests": {**wanted, "storage": asked}}
    if {name for name in (*spec, *before) if spec.get(name) != before.get(name)}:
        causes.append(forbidden_field("spec", _KEPT))
    if parse_quantity(_storage(wanted)) < parse_quantity(asked):
        path = "spec.resources.requests.storage"
        causes.append(forbidden_field(path, "field can not be less than status.capacity"))
    return causes + immutable("volumeMode", spec.get("volumeMode"), before.get("volumeMode"))


def _storage(resources: Object) -> str:
    return str(resources.get("storage", "0"))


def claim_spec(path: str, spec: Object) -> list[Cause]:
    """What a claim must ask for, alone or as a StatefulSet's template."""
    causes = _access_modes(f"{path}.accessModes", entries(spec, "accessModes"))
    if not part(spec, "resources", "requests").get("storage"):
        causes.append(required(f"{path}.resources[storage]"))
    mode = spec.get("volumeMode")
    if mode is not None and mode not in _MODES:
        causes.append(not_supported(f"{path}.volumeMode", mode, _MODES))
    return causes


def _access_modes(path: str, modes: Any) -> list[Cause]:
    if not modes:
        return [required(path, "at least 1 access mode is required")]
    return [not_supported(path, mode, _ACCESS_MODES) for mode in modes if mode not in _ACCESS_MODES]


def volume(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """A PersistentVolume: what it is made of stays."""
    if subresource == "status":
        return []
    spec = part(new, "spec")
    modes = entries(spec, "accessModes")
    causes = [] if modes else [required("spec.accessModes")]
    causes += [
        not_supported("spec.accessModes", mode, _ACCESS_MODES) for mode in modes if mode not in _ACCESS_MODES
    ]
    if not part(spec, "capacity"):
        causes.append(required("spec.capacity"))
    if list(part(spec, "capacity")) != ["storage"]:
        causes.append(not_supported("spec.capacity", spec.get("capacity"), ("storage",)))
    if spec.keys() <= _NO_SOURCE:
        causes.append(required("spec", "must specify a volume type"))
    nfs = spec.get("nfs")
    causes += [] if nfs is None else _nfs("spec.nfs", nfs)
    reclaim, mode = spec.get("persistentVolumeReclaimPolicy"), spec.get("volumeMode")
    if reclaim and reclaim not in _VOLUME_RECLAIM:
        causes.append(not_supported("spec.persistentVolumeReclaimPolicy", reclaim, _VOLUME_RECLAIM))
    if mode is not None and mode not in _MODES:
        causes.append(not_supported("spec.volumeMode", mode, _MODES))
    if old is None:
        return causes
    kept = _source(spec) == _source(part(old, "spec"))
    # upstream validates a changed volume twice
    causes += causes
    causes += [] if kept else [forbidden_field("spec.persistentvolumesource", _SOURCE_KEPT)]
    return causes + immutable("volumeMode", mode, part(old, "spec").get("volumeMode"))


def _source(spec: Object) -> Object:
    return {name: value for name, value in spec.items() if name not in _NO_SOURCE}


def _nfs(path: str, source: Object) -> list[Cause]:
    causes = [required(f"{path}.{name}") for name in ("server", "path") if not source.get(name)]
    if not str(source.get("path", "")).startswith("/"):
        causes.append(invalid_value(f"{path}.path", source.get("path", ""), "must be an absolute path"))
    return causes


def storage_class(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """A StorageClass: provisioner, parameters and policies stay."""
    del subresource
    causes = _provisioner(new.get("provisioner", ""))
    if "" in part(new, "parameters"):
        causes.append(invalid_value("parameters", "", "field can not be empty."))
    reclaim, binding = new.get("reclaimPolicy", ""), new.get("volumeBindingMode")
    causes += one_of("reclaimPolicy", reclaim, _RECLAIM, needed=False)
    if binding not in _BINDING:
        causes.append(not_supported("volumeBindingMode", binding, _BINDING))
    if old is None:
        return causes
    for name, absent in _SETTLED:
        causes += immutable(name, new.get(name, absent), old.get(name, absent))
    return causes


def _provisioner(name: str) -> list[Cause]:
    if not name:
        return [required("provisioner")]
    return all_invalid("provisioner", name.lower(), names.qualified_name(name.lower()))
