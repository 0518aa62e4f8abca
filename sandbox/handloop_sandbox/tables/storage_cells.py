"""
The rows of volumes, their claims and their classes.

Follows: kubernetes pkg/printers/internalversion/printers.go, pkg/apis/core/helper, pkg/apis/storage/util.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from handloop_sandbox.tables.cell import UNSET, Object, age_of, is_deleting, name_of
from handloop_sandbox.wire.field_rules import part

_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_DEFAULTS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_MODES: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def volume_cells(obj: Object, now: float) -> list[Any]:
    """
    Return the cells: name, capacity, access modes, reclaim policy, status, claim, storage class, attributes
    class, reason, age and volume mode.
    """
    spec, status = part(obj, "spec"), part(obj, "status")
    claim = part(spec, "claimRef")
    return [
        name_of(obj),
        part(spec, "capacity").get("storage", "0"),
        _modes(spec.get("accessModes") or ()),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(obj),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        _class_of(obj),
        spec.get("volumeAttributesClassName") or UNSET,
        status.get("reason", ""),
        age_of(obj, now),
        spec.get("volumeMode") or UNSET,
    ]


def claim_cells(obj: Object, now: float) -> list[Any]:
    """
    Return the cells: name, status, volume, capacity, access modes, storage class, attributes class, age and
    volume mode.
    """
    spec, status = part(obj, "spec"), part(obj, "status")
    volume = spec.get("volumeName", "")
    return [
        name_of(obj),
        _phase(obj),
        volume,
        part(status, "capacity").get("storage", "0") if volume else "",
        _modes(status.get("accessModes") or ()) if volume else "",
        _class_of(obj),
        spec.get("volumeAttributesClassName") or UNSET,
        age_of(obj, now),
        spec.get("volumeMode") or UNSET,
    ]


def class_cells(obj: Object, now: float) -> list[Any]:
    """Return the cells: name, provisioner, reclaim policy, binding mode, expansion, age."""
    notes = part(obj, "metadata", "annotations")
    is_default = any(notes.get(name) == "true" for name in _DEFAULTS)
    return [
        f"{name_of(obj)} (default)" if is_default else name_of(obj),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy") or "Delete",
        obj.get("volumeBindingMode") or "Immediate",
        bool(obj.get("allowVolumeExpansion")),
        age_of(obj, now),
    ]


def _modes(given: Sequence[str]) -> str:
    """Return the abbreviated access modes without duplicates, in the API server's order."""
    return ",".join(short for mode, short in _MODES.items() if mode in given)


def _phase(obj: Object) -> str:
    return "Terminating" if is_deleting(obj) else part(obj, "status").get("phase", "")


def _class_of(obj: Object) -> str:
    notes = part(obj, "metadata", "annotations")
    return str(notes[_CLASS] if _CLASS in notes else part(obj, "spec").get("storageClassName") or "")
