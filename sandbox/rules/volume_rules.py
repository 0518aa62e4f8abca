"""
Volumes of pods and PersistentVolumeClaims: what they may look like, and what of a claim may change.

Follows: kubernetes pkg/apis/core/validation/validation.go (ValidateVolumes, ValidatePersistentVolumeClaim).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from handloop.apis.quantity import parse_quantity
from handloop.sandbox.rules.environment_rules import field_reference
from handloop.sandbox.wire import names
from handloop.sandbox.wire.causes import duplicate, forbidden_field, invalid_value, not_supported, required
from handloop.sandbox.wire.field_rules import Object, entries, immutable, named_by, part
from handloop.sandbox.wire.status import Cause

MAX_MODE: Final = 0o777
MIN_TOKEN_SECONDS: Final = 600
MAX_UINT32: Final = 2**32
_MODE_RANGE: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_HOST_PATH_TYPES: Final = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
# in the order in which the first one given is the one that counts
_SOURCES: Final = (
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
)


def volumes(path: str, found: Sequence[Object]) -> tuple[set[str], list[Cause]]:
    """The names of the volumes that can be mounted, and the complaints about the others."""
    causes: list[Cause] = []
    seen: set[str] = set()
    for index, volume in enumerate(found):
        at, name = f"{path}[{index}]", volume.get("name", "")
        wrong = _volume_source(at, volume)
        misnamed = named_by(f"{at}.name", name, names.dns_1123_label)
        wrong += misnamed or ([duplicate(f"{at}.name", name)] if name in seen else [])
        causes += wrong
        if not wrong:
            seen.add(name)
    return seen, causes


def _volume_source(at: str, volume: Object) -> list[Cause]:
    given = [name for name in _SOURCES if volume.get(name) is not None]
    if not given:
        return [required(at, "must specify a volume type")]
    causes = _source(f"{at}.{given[0]}", given[0], volume[given[0]])
    return causes + [
        forbidden_field(f"{at}.{name}", "may not specify more than 1 volume type") for name in given[1:]
    ]


def _source(path: str, kind: str, source: Object) -> list[Cause]:
    needed = {"persistentVolumeClaim": "claimName", "secret": "secretName", "configMap": "name"}.get(kind)
    causes = [required(f"{path}.{needed}")] if needed and not source.get(needed) else []
    causes += _mode(path, source)
    if kind in {"configMap", "secret"}:
        return causes + _items(f"{path}.items", entries(source, "items"))
    if kind == "downwardAPI":
        return causes + [cause for item in entries(source, "items") for cause in _downward_item(path, item)]
    if kind == "projected":
        return causes + _projected(path, entries(source, "sources"))
    return causes + _host_path(path, source) if kind == "hostPath" else causes


def _host_path(path: str, source: Object) -> list[Cause]:
    where, kind = source.get("path", ""), source.get("type")
    causes = [] if where else [required(f"{path}.path")]
    if ".." in where.split("/"):
        causes.append(invalid_value(f"{path}.path", where, "must not contain '..'"))
    if kind is not None and kind not in _HOST_PATH_TYPES:
        causes.append(not_supported(f"{path}.type", kind, _HOST_PATH_TYPES))
    return causes


def _mode(path: str, source: Object) -> list[Cause]:
    mode = source.get("defaultMode")
    fits = mode is None or 0 <= mode <= MAX_MODE
    return [] if fits else [invalid_value(f"{path}.defaultMode", mode, _MODE_RANGE)]


def _projected(path: str, sources: Sequence[Object]) -> list[Cause]:
    causes: list[Cause] = []
    taken: set[str] = set()
    for index, projection in enumerate(sources):
        for kind in ("secret", "configMap", "downwardAPI", "serviceAccountToken"):
            source = projection.get(kind)
            if source is not None:
                causes += _projection(path, f"{path}.sources[{index}].{kind}", kind, source)
                causes += _conflicts(path, kind, source, taken)
    return causes


def _projection(path: str, at: str, kind: str, source: Object) -> list[Cause]:
    if kind == "serviceAccountToken":
        seconds, where = source.get("expirationSeconds"), source.get("path", "")
        causes = [] if seconds is None else _expiry(f"{at}.expirationSeconds", seconds)
        return causes if where else [*causes, required(f"{path}.path")]
    if kind == "downwardAPI":
        return [cause for item in entries(source, "items") for cause in _downward_item(at, item)]
    causes = [] if source.get("name") else [required(f"{at}.name")]
    return causes + _items(f"{at}.items", entries(source, "items"))


def _expiry(path: str, seconds: int) -> list[Cause]:
    if seconds < MIN_TOKEN_SECONDS:
        return [invalid_value(path, seconds, "may not specify a duration less than 10 minutes")]
    if seconds > MAX_UINT32:
        return [invalid_value(path, seconds, "may not specify a duration larger than 2^32 seconds")]
    return []


def _conflicts(path: str, kind: str, source: Object, taken: set[str]) -> list[Cause]:
    """Files that another source of the same volume writes already."""
    wanted = [item.get("path", "") for item in entries(source, "items")]
    causes = []
    for where in filter(None, wanted):
        if where in taken:
            # upstream names the ConfigMap or Secret, but the file of a downward API
            shown = where if kind == "downwardAPI" else source.get("name", "")
            causes.append(invalid_value(path, shown, "conflicting duplicate paths"))
        taken.add(where)
    return causes


def _downward_item(path: str, item: Object) -> list[Cause]:
    causes = [] if item.get("path") else [required(f"{path}.path")]
    if item.get("fieldRef") is not None:
        return causes + field_reference(f"{path}.fieldRef", item["fieldRef"])
    if item.get("resourceFieldRef") is None:
        causes.append(required(path, "one of fieldRef and resourceFieldRef is required"))
    return causes


def _items(path: str, found: Sequence[Object]) -> list[Cause]:
    causes: list[Cause] = []
    for index, item in enumerate(found):
        at, where = f"{path}[{index}]", item.get("path", "")
        causes += [] if item.get("key") else [required(f"{at}.key")]
        if not where:
            causes.append(required(f"{at}.path"))
        elif where.startswith("/"):
            causes.append(invalid_value(f"{at}.path", where, "must be a relative path"))
    return causes


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
