"""
Validation rules for a pod's volumes. Each has one source with all its required fields.

Follows: kubernetes pkg/apis/core/validation/validation.go (ValidateVolumes). Differs: rare sources are
checked only for required fields.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from handloop_sandbox.grammar.quantity import parse_quantity
from handloop_sandbox.rules.environment_rules import field_causes, resource_causes
from handloop_sandbox.rules.security_context_rules import descending, not_up
from handloop_sandbox.rules.storage_rules import claim_spec
from handloop_sandbox.wire import names
from handloop_sandbox.wire.causes import duplicate, forbidden_field, invalid_value, not_supported, required
from handloop_sandbox.wire.field_rules import Object, all_invalid, entries, labels, named_by, part
from handloop_sandbox.wire.status import Cause

NEEDED: Final = {
    "awsElasticBlockStore": ("volumeID",),
    "azureDisk": ("diskName", "diskURI"),
    "azureFile": ("secretName", "shareName"),
    "cephfs": ("monitors",),
    "cinder": ("volumeID",),
    "configMap": ("name",),
    "csi": ("driver",),
    "flexVolume": ("driver",),
    "gcePersistentDisk": ("pdName",),
    "gitRepo": ("repository",),
    "glusterfs": ("endpoints", "path"),
    "hostPath": ("path",),
    "image": ("reference",),
    "iscsi": ("targetPortal", "iqn"),
    "nfs": ("server", "path"),
    "persistentVolumeClaim": ("claimName",),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "rbd": ("monitors", "image"),
    "scaleIO": ("gateway", "system", "volumeName"),
    "secret": ("secretName",),
    "storageos": ("volumeName",),
    "vsphereVolume": ("volumePath",),
}
_TOLD: Final = {"gcePersistentDisk": "persistentDisk"}
"""Volume sources that have a different name in validation errors."""
_HOST_TYPES: Final = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_MODE: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_HIGHEST_MODE: Final = 0o777
_LUN: Final = "must be between 0 and 255, inclusive"
_HIGHEST_LUN: Final = 255
_TARGET: Final = re.compile(r"(iqn\.|eui\.|naa\.).*")
_SHORTEST_TOKEN: Final = 10 * 60
_LONGEST_TOKEN: Final = 2**32


def volumes(path: str, found: Sequence[Object]) -> tuple[set[str], list[Cause]]:
    """Return the names of the valid volumes, which containers can mount, and the errors for the others."""
    causes: list[Cause] = []
    seen: set[str] = set()
    for index, volume in enumerate(found):
        at, name = f"{path}[{index}]", volume.get("name", "")
        wrong = _source(at, volume)
        misnamed = named_by(f"{at}.name", name, names.dns_1123_label)
        wrong += misnamed or ([duplicate(f"{at}.name", name)] if name in seen else [])
        causes += wrong
        if not wrong:
            seen.add(name)
    return seen, causes


def _source(at: str, volume: Object) -> list[Cause]:
    kinds = [kind for kind in volume if kind != "name" and volume[kind] is not None]
    first = next((kind for kind in ("emptyDir", *kinds) if kind in kinds), "")
    causes = [
        forbidden_field(f"{at}.{kind}", "may not specify more than 1 volume type")
        for kind in kinds
        if kind != first
    ]
    source, path = part(volume, first), f"{at}.{_TOLD.get(first, first)}"
    causes += [required(f"{path}.{name}") for name in NEEDED.get(first, ()) if not source.get(name)]
    return causes + _content(first, path, source)


def _content(kind: str, path: str, source: Object) -> list[Cause]:
    match kind:
        case "emptyDir":
            limit = source.get("sizeLimit")
            text = "SizeLimit field must be a valid resource quantity"
            is_wrong = limit is not None and parse_quantity(str(limit)) < 0
            return [forbidden_field(f"{path}.sizeLimit", text)] if is_wrong else []
        case "configMap" | "secret":
            return _mode(f"{path}.defaultMode", source.get("defaultMode")) + _items(path, source)
        case "downwardAPI":
            return _mode(f"{path}.defaultMode", source.get("defaultMode")) + _files(path, source)
        case "projected":
            return _mode(f"{path}.defaultMode", source.get("defaultMode")) + _projected(path, source)
        case "ephemeral":
            return _ephemeral(f"{path}.volumeClaimTemplate", source.get("volumeClaimTemplate"))
    return _elsewhere(kind, path, source)


def _elsewhere(kind: str, path: str, source: Object) -> list[Cause]:
    """Return the validation errors for a volume source such as a host path, an NFS share or an image."""
    where, causes = source.get("path", ""), []
    match kind:
        case "hostPath":
            causes += not_up(f"{path}.path", where)
            if (chosen := source.get("type")) and chosen not in _HOST_TYPES:
                causes.append(not_supported(f"{path}.type", chosen, _HOST_TYPES))
        case "nfs" if not where.startswith("/"):
            causes.append(invalid_value(f"{path}.path", where, "must be an absolute path"))
        case "csi":
            driver, secret = source.get("driver", ""), source.get("nodePublishSecretRef")
            causes += (
                all_invalid(f"{path}.driver", driver, names.dns_1123_subdomain(driver)) if driver else []
            )
            if secret is not None and not secret.get("name"):
                causes.append(required(f"{path}.nodePublishSecretRef.name"))
        case "gitRepo":
            causes += descending(f"{path}.directory", source.get("directory", ""))
        case "image" if (policy := source.get("pullPolicy")) and policy not in _PULL_POLICIES:
            causes.append(not_supported(f"{path}.pullPolicy", policy, _PULL_POLICIES))
        case "iscsi":
            name = source.get("iqn", "")
            if name and not _TARGET.fullmatch(name):
                text = "must be valid format starting with iqn, eui, or naa"
                causes.append(invalid_value(f"{path}.iqn", name, text))
            causes += _lun(f"{path}.lun", source.get("lun", 0))
        case "fc":
            causes += _channel(path, source)
    return causes


def _channel(path: str, source: Object) -> list[Cause]:
    targets, lun = entries(source, "targetWWNs"), source.get("lun")
    if bool(targets) == bool(entries(source, "wwids")):
        text = "must specify either targetWWNs or wwids, but not both"
        return [required(f"{path}.targetWWNs", text)]
    if targets and lun is None:
        return [required(f"{path}.lun", "lun is required if targetWWNs is specified")]
    return _lun(f"{path}.lun", lun) if targets else []


def _lun(path: str, lun: Any) -> list[Cause]:
    return [] if 0 <= lun <= _HIGHEST_LUN else [invalid_value(path, lun, _LUN)]


def _mode(path: str, mode: Any) -> list[Cause]:
    return [] if mode is None or 0 <= mode <= _HIGHEST_MODE else [invalid_value(path, mode, _MODE)]


def _items(path: str, source: Object) -> list[Cause]:
    causes: list[Cause] = []
    for index, item in enumerate(entries(source, "items")):
        at = f"{path}.items[{index}]"
        causes += [] if item.get("key") else [required(f"{at}.key")]
        causes += _inside(f"{at}.path", item.get("path", ""))
        causes += _mode(f"{at}.mode", item.get("mode"))
    return causes


def _inside(path: str, where: str) -> list[Cause]:
    if not where:
        return [required(path)]
    causes = descending(path, where)
    if where.startswith("..") and not where.startswith("../"):
        causes.append(invalid_value(path, where, "must not start with '..'"))
    return causes


def _files(path: str, source: Object) -> list[Cause]:
    causes: list[Cause] = []
    for file in entries(source, "items"):
        causes += _inside(f"{path}.path", file.get("path", ""))
        field, resource = file.get("fieldRef"), file.get("resourceFieldRef")
        if field is not None:
            causes += field_causes(f"{path}.fieldRef", field, files=True)
            if resource is not None:
                text = "fieldRef and resourceFieldRef can not be specified simultaneously"
                causes.append(invalid_value(path, "resource", text))
        elif resource is not None:
            causes += resource_causes(f"{path}.resourceFieldRef", resource, files=True)
        else:
            causes.append(required(path, "one of fieldRef and resourceFieldRef is required"))
        causes += _mode(f"{path}.mode", file.get("mode"))
    return causes


def _projected(path: str, source: Object) -> list[Cause]:
    causes: list[Cause] = []
    taken: list[str] = []
    for index, projection in enumerate(entries(source, "sources")):
        at = f"{path}.sources[{index}]"
        kinds = [kind for kind in projection if projection[kind] is not None]
        causes += [
            forbidden_field(at, "may not specify more than 1 volume type per source") for _ in kinds[1:]
        ]
        for kind in kinds[:1]:
            inner = projection[kind]
            causes += _projection(kind, f"{at}.{kind}", path, inner)
            for item in entries(inner, "items"):
                where = item.get("path", "")
                if where in taken:
                    name = inner.get("name", "")
                    causes.append(invalid_value(path, name, "conflicting duplicate paths"))
                taken.append(where)
    return causes


def _projection(kind: str, at: str, path: str, source: Object) -> list[Cause]:
    match kind:
        case "configMap" | "secret":
            return [*([] if source.get("name") else [required(f"{at}.name")]), *_items(at, source)]
        case "downwardAPI":
            return _files(at, source)
        case "serviceAccountToken":
            seconds, where, causes = source.get("expirationSeconds", 3600), source.get("path", ""), []
            if seconds < _SHORTEST_TOKEN:
                text = "may not specify a duration less than 10 minutes"
                causes.append(invalid_value(f"{at}.expirationSeconds", seconds, text))
            if seconds > _LONGEST_TOKEN:
                text = "may not specify a duration larger than 2^32 seconds"
                causes.append(invalid_value(f"{at}.expirationSeconds", seconds, text))
            return causes + _inside(f"{path}.path", where)
    return []


def _ephemeral(path: str, template: Any) -> list[Cause]:
    if template is None:
        return [required(path)]
    metadata = part(template, "metadata")
    causes = [
        forbidden_field(f"{path}.metadata.{name}", "cannot be set")
        for name in ("name", "generateName", "namespace")
        if metadata.get(name)
    ]
    causes += labels(f"{path}.metadata.labels", part(metadata, "labels"))
    return causes + claim_spec(f"{path}.spec", part(template, "spec"))
