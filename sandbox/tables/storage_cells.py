"""
Rows of volumes, claims, storage classes and quotas.

Follows: kubernetes pkg/printers/internalversion/printers.go, pkg/apis/core/helper/helpers.go.
"""

from __future__ import annotations

from typing import Any

from handloop.sandbox.tables.cell import UNSET, Object, age_of, is_deleting, name_of
from handloop.sandbox.wire.field_rules import part

_ACCESS_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


_STORAGE_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


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
