"""
What the volumes of a pod may look like.

Follows: kubernetes pkg/apis/core/validation/validation.go (ValidateVolumes).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sandbox import names
from sandbox.causes import duplicate, forbidden_field, invalid_value, required
from sandbox.environment_rules import field_reference
from sandbox.field_rules import Object, entries, named_by
from sandbox.status import Cause

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
    """The names of the volumes that can be mounted, and what is wrong with the others."""
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
    needed = {
        "configMap": "name",
        "hostPath": "path",
        "persistentVolumeClaim": "claimName",
        "secret": "secretName",
    }.get(kind)
    causes = [required(f"{path}.{needed}")] if needed and not source.get(needed) else []
    if kind in {"configMap", "secret"}:
        causes += _items(f"{path}.items", entries(source, "items"))
    if kind == "downwardAPI":
        for item in entries(source, "items"):
            causes += _downward_item(path, item)
    if kind == "projected":
        for projection in entries(source, "sources"):
            token = projection.get("serviceAccountToken")
            if token is not None and not token.get("path"):
                causes.append(required(f"{path}.path"))
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
