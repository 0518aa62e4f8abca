"""
Rows of volumes, claims, storage classes and quotas.

Follows: kubernetes pkg/printers/internalversion/printers.go, pkg/apis/core/helper/helpers.go.
"""

from __future__ import annotations

from typing import Any

from handloop.sandbox.tables.cell import UNSET, Object, age_of, default_mark, is_deleting, name_of, part

_ACCESS_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


_STORAGE_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


def storage_class_cells(obj: Object, now: float) -> list[Any]:
    """Name, provisioner, reclaim policy, volume binding mode, allow volume expansion, age."""
    return [
        name_of(obj) + default_mark(obj, "storageclass.kubernetes.io/is-default-class"),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy", "Delete"),
        obj.get("volumeBindingMode", "Immediate"),
        bool(obj.get("allowVolumeExpansion")),
        age_of(obj, now),
    ]


def volume_cells(obj: Object, now: float) -> list[Any]:
    """Name, capacity, access modes, reclaim policy, status, claim, classes, reason, age, volume mode."""
    spec, status = part(obj, "spec"), part(obj, "status")
    claim = spec.get("claimRef")
    return [
        name_of(obj),
        part(spec, "capacity").get("storage", "0"),
        _access_modes(spec),
        spec.get("persistentVolumeReclaimPolicy", ""),
        "Terminating" if is_deleting(obj) else status.get("phase", ""),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        _storage_class(obj),
        spec.get("volumeAttributesClassName") or UNSET,
        status.get("reason", ""),
        age_of(obj, now),
        spec.get("volumeMode") or UNSET,
    ]


def claim_cells(obj: Object, now: float) -> list[Any]:
    """Name, status, volume, capacity, access modes, classes, age, volume mode."""
    spec, status = part(obj, "spec"), part(obj, "status")
    bound = bool(spec.get("volumeName"))
    return [
        name_of(obj),
        "Terminating" if is_deleting(obj) else status.get("phase", ""),
        spec.get("volumeName", ""),
        part(status, "capacity").get("storage", "0") if bound else "",
        _access_modes(status) if bound else "",
        _storage_class(obj),
        spec.get("volumeAttributesClassName") or UNSET,
        age_of(obj, now),
        spec.get("volumeMode") or UNSET,
    ]


def _access_modes(holder: Object) -> str:
    modes = holder.get("accessModes") or ()
    return ",".join(short for mode, short in _ACCESS_MODES.items() if mode in modes)


def _storage_class(obj: Object) -> str:
    annotated = part(obj, "metadata", "annotations").get(_STORAGE_CLASS_ANNOTATION)
    return str(part(obj, "spec").get("storageClassName") or "") if annotated is None else str(annotated)


def quota_cells(obj: Object, now: float) -> list[Any]:
    """Name, request, limit, age."""
    hard, used = part(obj, "status", "hard"), part(obj, "status", "used")
    texts = {name: f"{name}: {used.get(name, '0')}/{hard[name]}" for name in sorted(hard)}
    requests = ", ".join(text for name, text in texts.items() if not name.startswith("limits."))
    limits = ", ".join(text for name, text in texts.items() if name.startswith("limits."))
    return [name_of(obj), requests, limits, age_of(obj, now)]
