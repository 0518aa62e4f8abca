"""
What claims, volumes and storage classes may look like, and what of them may change.

Follows: kubernetes pkg/apis/{core,storage}/validation.
"""

from __future__ import annotations

from typing import Any, Final

from handloop.apis.quantity import parse_quantity
from handloop.sandbox.wire.causes import forbidden_field, not_supported, required
from handloop.sandbox.wire.field_rules import Object, entries, immutable, part
from handloop.sandbox.wire.status import Cause

_KEPT: Final = (
    "spec is immutable after creation except resources.requests "
    "and volumeAttributesClassName for bound claims"
)
_MODES: Final = ("Block", "Filesystem")
_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")


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
