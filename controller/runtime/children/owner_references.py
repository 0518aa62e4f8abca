"""
Owner references: an object is deleted with its owners, and its changes trigger reconciles of its owners.

All functions are pure: the caller writes the object that they return.
Follows: controller-runtime pkg/controller/controllerutil @86a0d40e0, differs: a call that changes nothing
returns the same object; a controller is identified by its UID. More: docs/differences.md.
"""

from __future__ import annotations

from typing import Final, TypeVar

from msgspec.structs import replace

from handloop.apis.meta import Kind, OwnerReference, controller_of, is_controlled_by, new_controller_ref
from handloop.controller.runtime.children.finalizers import is_being_deleted
from handloop.controller.runtime.reconcile import ReconcileError, WaitError

T = TypeVar("T", bound=Kind)


class OwnerError(ValueError):
    """An invalid owner: the server would refuse it, or the garbage collector would delete the object."""


class AlreadyOwnedError(OwnerError):
    """Another object already controls this one. Fields: owner, the reference to that object."""

    def __init__(self, obj: Kind, owner: OwnerReference, wanted: OwnerReference) -> None:
        what = f"{obj.resource.kind} {obj.metadata.namespace}/{obj.metadata.name}"
        if _is_of_one_name(owner, wanted):
            text = (
                f"{what} is already controlled by another {owner.kind} {owner.name} (UID {owner.uid}, "
                f"not {wanted.uid}): if that one is gone, the garbage collector deletes the "
                f"{obj.resource.kind}, and a later retry succeeds"
            )
        else:
            text = f"{what} is already controlled by {owner.kind} {owner.name}"
        super().__init__(text)
        self.owner = owner


NAME_TAKEN: Final = "NameTaken"
"""The reason of the Event that reports a NameTakenError."""


class NameTakenError(ReconcileError):
    """
    The name of a child is taken by an object that its owner does not control. That object is left unchanged.

    The deletion of that object triggers no reconcile, so the write is retried after at least 5 s, with
    growing delays.
    """

    retry_seconds = 5.0


def with_controller(obj: T, owner: Kind) -> T:
    """
    Return the object with owner as its controller. owns() and the garbage collector follow this reference.

    Raises: AlreadyOwnedError if it has another controller, such as an earlier owner of the same name;
    OwnerError for an owner in another namespace, or without a UID.
    """
    wanted = _new_reference(obj, owner)
    present = controller_of(obj)
    if present is not None and present.uid != wanted.uid:
        raise AlreadyOwnedError(obj, present, wanted)
    return _with(obj, wanted)


def with_owner(obj: T, owner: Kind) -> T:
    """
    Return the object with one more owner. It keeps its controller, and is deleted with its last owner.

    Raises: OwnerError for an owner in another namespace, or without a UID.
    """
    wanted = replace(_new_reference(obj, owner), controller=False, block_owner_deletion=False)
    for present in obj.metadata.owner_references:
        if present.uid == wanted.uid:
            wanted = replace(present, api_version=wanted.api_version)
    return _with(obj, wanted)


def without_owner(obj: T, owner: Kind) -> T:
    """Return the object without this owner. Owners are compared by UID."""
    references = obj.metadata.owner_references
    kept = tuple(reference for reference in references if reference.uid != owner.metadata.uid)
    return obj if len(kept) == len(references) else _with_references(obj, kept)


def _with(obj: T, wanted: OwnerReference) -> T:
    """
    Add `wanted` in place of the references that it supersedes.

    A reference is superseded if it has the same UID, or if it is no controller reference and has the same
    kind and name.
    """
    references = obj.metadata.owner_references
    # The dict drops duplicates, because an object may have references to both the owner and its predecessor.
    updated = dict.fromkeys(wanted if _gives_way(each, wanted) else each for each in references)
    updated[wanted] = None
    return obj if tuple(updated) == references else _with_references(obj, tuple(updated))


def _gives_way(present: OwnerReference, wanted: OwnerReference) -> bool:
    return present.uid == wanted.uid or (not present.controller and _is_of_one_name(present, wanted))


def is_of_predecessor(reference: OwnerReference, owner: Kind) -> bool:
    """Return whether a reference points to an earlier object with the owner's kind and name."""
    return reference.uid != owner.metadata.uid and _is_of_one_name(reference, new_controller_ref(owner))


def require_ours(present: Kind, owner: Kind | None) -> None:
    """
    Check that owner controls an object that will be written, and that the object is not being deleted.

    Args: if owner is None, only the second check is made.
    Raises: NameTakenError if owner does not control the object; WaitError if the object is being deleted, or
    still belongs to an earlier owner of the same name.
    """
    what, holder = f"{present.resource.kind} {present.metadata.name}", controller_of(present)
    if owner is None or is_controlled_by(present, owner):
        if is_being_deleted(present):
            raise WaitError(f"{what} is still being deleted")
        return
    if holder is not None and is_of_predecessor(holder, owner):
        raise WaitError(f"{what} of an earlier {holder.kind} {holder.name} still exists")
    whose = "has no controller" if holder is None else f"belongs to {holder.kind} {holder.name}"
    raise NameTakenError(f"{what} already exists and {whose}: left alone")


def _is_of_one_name(one: OwnerReference, other: OwnerReference) -> bool:
    """Return whether two references name the same owner: the same group, kind and name, in any version."""
    return (one.kind, one.name, one.api_version.rpartition("/")[0]) == (
        other.kind,
        other.name,
        other.api_version.rpartition("/")[0],
    )


def _with_references(obj: T, references: tuple[OwnerReference, ...]) -> T:
    return replace(obj, metadata=replace(obj.metadata, owner_references=references))


def _new_reference(obj: Kind, owner: Kind) -> OwnerReference:
    """
    Return a reference that makes owner the controller of obj.

    Raises: TypeError if owner is not an object; OwnerError if obj cannot have that owner. The garbage
    collector would delete an object with an invalid reference.
    """
    if not isinstance(owner, Kind):
        raise TypeError(f"an owner must be an object, such as the one that is reconciled, not {owner!r}")
    try:
        reference = new_controller_ref(owner)
    except ValueError as error:
        raise OwnerError(str(error)) from None
    _refuse_circle(obj, owner)
    there, here = owner.metadata.namespace, obj.metadata.namespace
    if owner.resource.namespaced and there != here:
        place = f"an object in namespace {here}" if here else "a cluster-scoped object"
        what = f"{owner.resource.kind} {owner.metadata.name}"
        if obj.resource.namespaced and not here:
            child = f"{obj.resource.kind} {obj.metadata.name}"
            raise OwnerError(f"{child} has no namespace: set it to that of {what}, {there!r}")
        raise OwnerError(f"{what} in namespace {there} cannot own {place}")
    return reference


def _refuse_circle(obj: Kind, owner: Kind) -> None:
    """Refuse an owner cycle. The server accepts it, but the garbage collector never deletes its objects."""
    names, metadata = obj.resource, obj.metadata
    for each in owner.metadata.owner_references:
        is_kind = (each.kind, each.api_version.rpartition("/")[0]) == (names.kind, names.group)
        if is_kind and each.name == metadata.name:
            child, parent = f"{owner.resource.kind} {owner.metadata.name}", f"{names.kind} {metadata.name}"
            raise OwnerError(f"{child} cannot own {parent}, which already owns it: pass the parent as owner=")
