"""Owner references of stored objects. Follows: apimachinery pkg/apis/meta/v1/controller_ref.go."""

from __future__ import annotations

from typing import Any

from handloop_sandbox.storage.stored import Object


def references(obj: Object) -> list[dict[str, Any]]:
    """Return the owner references of an object."""
    owners: list[dict[str, Any]] = obj["metadata"].get("ownerReferences") or []
    return owners


def controller_of(obj: Object) -> dict[str, Any] | None:
    """Return the first reference with controller = true."""
    return next((reference for reference in references(obj) if reference.get("controller")), None)


def is_controlled_by(obj: Object, uid: str) -> bool:
    """Return whether an object's controller reference has this uid."""
    reference = controller_of(obj)
    return reference is not None and reference["uid"] == uid


def controller_reference(owner: Object) -> dict[str, Any]:
    """Return the owner reference that makes owner an object's controller."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def with_references(obj: Object, owners: list[dict[str, Any]]) -> Object:
    """Return a copy of obj with these owner references. If there are none, the field is omitted."""
    metadata = {key: value for key, value in obj["metadata"].items() if key != "ownerReferences"}
    if owners:
        metadata["ownerReferences"] = owners
    return {**obj, "metadata": metadata}


def without_owners(obj: Object, uids: set[str]) -> Object:
    """Return a copy of obj without the owner references to these uids."""
    return with_references(obj, [owner for owner in references(obj) if owner["uid"] not in uids])
