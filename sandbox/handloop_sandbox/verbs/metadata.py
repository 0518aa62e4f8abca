"""
Object metadata: the fields that the server sets, those that it preserves, and the rules for the others.

Follows: apiserver pkg/registry/rest (BeforeCreate, BeforeUpdate), apimachinery pkg/api/validation
(objectmeta.go).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from handloop_sandbox.requests.request import Context
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.wire import go_time, names
from handloop_sandbox.wire.causes import forbidden_field, invalid_value, required, too_long
from handloop_sandbox.wire.options import manager_causes
from handloop_sandbox.wire.status import Cause

NameRule = Callable[[str, bool], list[str]]
"""(name, whether the name is only a prefix) -> what is wrong with the name."""

_MAX_ANNOTATIONS: Final = 256 * 1024
_MAX_SUBRESOURCE: Final = 256
_STANDARD_FINALIZERS: Final = ("orphan", "foregroundDeletion", "kubernetes")
_IMMUTABLE: Final = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_SYSTEM_FIELDS: Final = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
)


def subdomain_rule(name: str, prefix: bool) -> list[str]:  # noqa: FBT001 - the shape of NameRule
    """Apply the name rule of most kinds: an RFC 1123 subdomain, where a prefix may end with a dash."""
    return names.dns_1123_subdomain(f"{name[:-1]}a" if prefix and name.endswith("-") else name)


def without_system_fields(obj: Object) -> Object:
    """Return a POST's object without fields that only the server sets. PUTs that create objects keep them."""
    return {
        **obj,
        "metadata": {key: obj["metadata"][key] for key in obj["metadata"] if key not in _SYSTEM_FIELDS},
    }


def owned_once(obj: Object) -> tuple[Object, str]:
    """Return the object without repeated owner references, and their UIDs, separated by commas."""
    kept: list[Any] = []
    repeated = []
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference in kept:
            repeated.append(reference.get("uid") or "")
        else:
            kept.append(reference)
    if not repeated:
        return obj, ""
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": kept}}, ",".join(repeated)


def for_create(obj: Object, context: Context, *, with_generation: bool) -> Object:
    """Return a new object with the server's metadata. Kinds without generations keep the client's value."""
    metadata = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
    metadata["uid"] = context.new_uid()
    if with_generation:
        metadata["generation"] = 1
    metadata["creationTimestamp"] = go_time.from_unix(context.now)
    return {**obj, "metadata": metadata}


def for_update(obj: Object, old: Object) -> Object:
    """Return a changed object, with the old values of metadata that clients can omit or must not change."""
    metadata, before = dict(obj["metadata"]), old["metadata"]
    for key in ("uid", "creationTimestamp", "generation"):
        if key in before and (key != "uid" or not metadata.get("uid")):
            metadata[key] = before[key]
    if "generation" not in before:
        metadata.pop("generation", None)
    if before.get("deletionTimestamp"):
        metadata["deletionTimestamp"] = before["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in before:
        metadata.setdefault("deletionGracePeriodSeconds", before["deletionGracePeriodSeconds"])
    return {**obj, "metadata": metadata}


def validate(metadata: Mapping[str, Any], rule: NameRule) -> list[Cause]:
    """Return the errors in the metadata of a new object."""
    causes = []
    prefix, name = metadata.get("generateName", ""), metadata.get("name", "")
    if prefix:
        causes += [invalid_value("metadata.generateName", prefix, text) for text in rule(prefix, True)]
    if not name:
        causes.append(required("metadata.name", "name or generateName is required"))
    else:
        causes += [invalid_value("metadata.name", name, text) for text in rule(name, False)]
    return causes + _common(metadata)


def validate_embedded(metadata: Mapping[str, Any]) -> list[Cause]:
    """Return the errors in the metadata of an embedded resource, whose name is optional."""

    def rule(name: str, _: bool) -> list[str]:  # noqa: FBT001 - the shape of NameRule
        return names.path_segment(name)

    namespace = metadata.get("namespace")
    wrong = names.dns_1123_label(namespace) if namespace else []
    causes = [invalid_value("metadata.namespace", namespace, text) for text in wrong]
    return causes + validate({"name": "any", **metadata}, rule)


def validate_update(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[Cause]:
    """Return the errors in the metadata of an updated object."""
    causes = _no_new_finalizers(new, old)
    causes += [
        invalid_value(f"metadata.{key}", new.get(key), "field is immutable")
        for key in _IMMUTABLE
        if new.get(key) != old.get(key)
    ]
    return causes + _common(new, is_update=True)


def _common(metadata: Mapping[str, Any], *, is_update: bool = False) -> list[Cause]:
    causes = _labels(metadata.get("labels") or {}, "metadata.labels")
    causes += _annotations(metadata.get("annotations") or {})
    causes += _owner_references(metadata.get("ownerReferences") or [])
    if not is_update:
        causes += _finalizers(metadata.get("finalizers") or [])
    return causes + _managers(metadata.get("managedFields") or [])


def _managers(entries: list[Mapping[str, Any]]) -> list[Cause]:
    causes = []
    for index, entry in enumerate(entries):
        field = f"metadata.managedFields[{index}]"
        causes += manager_causes(entry.get("manager") or "", f"{field}.manager")
        if len((entry.get("subresource") or "").encode()) > _MAX_SUBRESOURCE:
            causes.append(too_long(f"{field}.subresource", _MAX_SUBRESOURCE))
    return causes


def _labels(labels: Mapping[str, str], field: str) -> list[Cause]:
    causes = []
    for key, value in labels.items():
        causes += [invalid_value(field, key, text) for text in names.qualified_name(key)]
        causes += [invalid_value(field, value, text) for text in names.label_value(value)]
    return causes


def _annotations(annotations: Mapping[str, str]) -> list[Cause]:
    field, causes = "metadata.annotations", []
    for key in annotations:
        causes += [invalid_value(field, key, text) for text in names.qualified_name(key.lower())]
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > _MAX_ANNOTATIONS:
        causes.append(
            Cause("FieldValueTooLong", f"Too long: may not be more than {_MAX_ANNOTATIONS} bytes", field)
        )
    return causes


def _finalizers(finalizers: list[str]) -> list[Cause]:
    field, causes = "metadata.finalizers", []
    for finalizer in finalizers:
        causes += [invalid_value(field, finalizer, text) for text in names.qualified_name(finalizer)]
    if {"orphan", "foregroundDeletion"} <= set(finalizers):
        text = "finalizer orphan and foregroundDeletion cannot be both set"
        causes.append(invalid_value(field, finalizers, text))
    return causes


def more_about_finalizers(metadata: Mapping[str, Any], *, is_update: bool) -> list[Cause]:
    """Return the errors in finalizers that validate() and validate_update() do not report."""
    finalizers = metadata.get("finalizers") or []
    text = "name is neither a standard finalizer name nor is it fully qualified"
    causes = _finalizers(finalizers) if is_update else []
    return causes + [
        invalid_value(f"metadata.finalizers[{index}]", finalizer, text)
        for index, finalizer in enumerate(finalizers)
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS
    ]


def finalizer_warnings(metadata: Mapping[str, Any], old: Mapping[str, Any] | None = None) -> list[str]:
    """Return a warning for each new finalizer without a domain. If old is None, the object is new."""
    before = (old or {}).get("finalizers") or ()
    return [
        f'metadata.finalizers: "{finalizer}": prefer a domain-qualified finalizer name '
        f"{'including a path (/) ' if '.' in finalizer else ''}to avoid accidental "
        "conflicts with other finalizer writers"
        for finalizer in metadata.get("finalizers") or ()
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS and finalizer not in before
    ]


def _no_new_finalizers(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[Cause]:
    if not old.get("deletionTimestamp"):
        return []
    before = set(old.get("finalizers") or ())
    added = sorted(set(new.get("finalizers") or ()) - before)
    if not added:
        return []
    shown = ", ".join(f'"{name}"' for name in added)
    text = "no new finalizers can be added if the object is being deleted, found new finalizers "
    return [forbidden_field("metadata.finalizers", f"{text}[]string{{{shown}}}")]


def _owner_references(references: list[Mapping[str, Any]]) -> list[Cause]:
    field, causes = "metadata.ownerReferences", []
    for reference in references:
        causes += _owner_reference(reference, field)
    controllers = [reference for reference in references if reference.get("controller")]
    if len(controllers) > 1:
        first, second = (f"{entry['kind']}/{entry['name']}" for entry in controllers[:2])
        text = "Only one reference can have Controller set to true. Found"
        detail = f'{text} "true" in references for {first} and {second}'
        causes.append(invalid_value(field, references, detail))
    return causes


def _owner_reference(reference: Mapping[str, Any], field: str) -> list[Cause]:
    causes = []
    api_version = reference.get("apiVersion", "")
    version = api_version.rpartition("/")[2]
    if not version or api_version.count("/") > 1:
        causes.append(invalid_value(f"{field}.apiVersion", api_version, "version must not be empty"))
    causes += [
        invalid_value(f"{field}.{key}", reference.get(key, ""), "must not be empty")
        for key in ("kind", "name", "uid")
        if not reference.get(key)
    ]
    if api_version == "v1" and reference.get("kind") == "Event":
        text = "/v1, Kind=Event is disallowed from being an owner"
        causes.append(invalid_value(f"{field}", dict(reference), text))
    return causes
