"""
What a write through an endpoint may change of an object, and when its generation rises.

Follows: apiextensions pkg/registry/customresource/{strategy,status_strategy}.go, kubernetes
pkg/registry/*/strategy.go (PrepareForUpdate).
"""

from __future__ import annotations

from typing import Final

from handloop.sandbox.requests.call import shallow_metadata
from handloop.sandbox.storage.stored import Object
from handloop.sandbox.verbs import service_changes
from handloop.sandbox.wire.resource import ServedResource

_ANNOTATIONS_COUNT: Final = ("Deployment",)
_LABELS_STAY: Final = ("apps",)


def prepare_update(resource: ServedResource, new: Object, old: Object, subresource: str) -> Object:
    """A changed object with only the changes that the endpoint lets through."""
    match subresource:
        case "status" | "approval":
            return _custom_status(new, old) if resource.custom else _built_in_status(resource, new, old)
        case "finalize":
            return {**old, "metadata": new["metadata"], "spec": new.get("spec") or {}}
    return _main(resource, new, old)


def _main(resource: ServedResource, new: Object, old: Object) -> Object:
    if resource.subresource("status"):
        new = _with(new, "status", old)
    if resource.kind == "Service" and not resource.custom:
        new = service_changes.without_what_the_type_lost(new, old)
    if resource.kind == "Namespace" and not resource.custom:
        new = _with(new, "spec", old)
    if resource.kind == "CustomResourceDefinition" and not resource.custom:
        new = _with_stored_version(new)
    if resource.has_generation and _counts(resource, new, old):
        generation = old["metadata"].get("generation", 0) + 1
        return shallow_metadata(new, generation=generation)
    return new


def _with_stored_version(definition: Object) -> Object:
    """A definition whose status names the version that objects are stored in."""
    versions, status = definition["spec"].get("versions") or (), definition.get("status") or {}
    stored = list(status.get("storedVersions") or ())
    stored += [entry["name"] for entry in versions if entry.get("storage") and entry["name"] not in stored]
    return {**definition, "status": {**status, "storedVersions": stored or None}}


def _counts(resource: ServedResource, new: Object, old: Object) -> bool:
    """Whether the generation rises."""
    if resource.custom or "spec" not in old:
        names = {*new, *old} - {"metadata", "apiVersion", "kind"}
        return any(new.get(name) != old.get(name) for name in names)
    if resource.kind in _ANNOTATIONS_COUNT:
        before, after = (obj["metadata"].get("annotations") for obj in (old, new))
        if before != after:
            return True
    return bool(new.get("spec") != old.get("spec"))


def _custom_status(new: Object, old: Object) -> Object:
    metadata = shallow_metadata(old, managedFields=new["metadata"].get("managedFields"))
    return _with(metadata, "status", new)


def _built_in_status(resource: ServedResource, new: Object, old: Object) -> Object:
    before = old["metadata"]
    kept = {"ownerReferences": before.get("ownerReferences")}
    if resource.group in _LABELS_STAY:
        kept["labels"] = before.get("labels")
    obj = {**old, "metadata": shallow_metadata(new, **kept)["metadata"]}
    return _with(obj, "status", new)


def _with(obj: Object, name: str, source: Object) -> Object:
    """An object with one member as source has it."""
    rest = {key: value for key, value in obj.items() if key != name}
    return {**rest, name: source[name]} if name in source else rest
