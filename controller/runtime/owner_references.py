"""
Owner references: an object is deleted with its owners, and its changes lead to reconciles of them.

Pure functions: the caller writes the object that they return.
Follows: controller-runtime pkg/controller/controllerutil @86a0d40e0, differs: a call that changes nothing
returns the same object; a controller is known by its UID. More: docs/differences.md.
"""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from handloop.apis.meta import Kind, OwnerReference, controller_of, new_controller_ref

T = TypeVar("T", bound=Kind)


class OwnerError(ValueError):
    """An impossible owner: the server would refuse it, or the garbage collector delete the object."""


class AlreadyOwnedError(OwnerError):
    """Another object controls this one already. Fields: owner, the reference to it."""

    def __init__(self, obj: Kind, owner: OwnerReference, wanted: OwnerReference) -> None:
        what = f"{obj.resource.kind} {obj.metadata.namespace}/{obj.metadata.name}"
        if _is_of_one_name(owner, wanted):
            text = (
                f"{what} is already controlled by another {owner.kind} {owner.name} (UID {owner.uid}, not "
                f"{wanted.uid}): if that one is gone, the garbage collector deletes the {obj.resource.kind}, "
                "and a later try succeeds"
            )
        else:
            text = f"{what} is already controlled by {owner.kind} {owner.name}"
        super().__init__(text)
        self.owner = owner


def with_controller(obj: T, owner: Kind) -> T:
    """
    The object under the control of owner; a builder's owns() and garbage collection go by that reference.

    Raises: AlreadyOwnedError, also for an earlier owner of that name; OwnerError for an owner in another
    namespace, or without a UID.
    """
    wanted = _new_reference(obj, owner)
    present = controller_of(obj)
    if present is not None and present.uid != wanted.uid:
        raise AlreadyOwnedError(obj, present, wanted)
    return _with(obj, wanted)


def with_owner(obj: T, owner: Kind) -> T:
    """
    The object with one more owner; its controller stays. The object is deleted with its last owner.

    Raises: OwnerError for an owner in another namespace, or without a UID.
    """
    wanted = replace(_new_reference(obj, owner), controller=False, block_owner_deletion=False)
    for present in obj.metadata.owner_references:
        if present.uid == wanted.uid:
            wanted = replace(present, api_version=wanted.api_version)
    return _with(obj, wanted)


def without_owner(obj: T, owner: Kind) -> T:
    """The object without that owner, by UID."""
    references = obj.metadata.owner_references
    kept = tuple(reference for reference in references if reference.uid != owner.metadata.uid)
    return obj if len(kept) == len(references) else _with_references(obj, kept)


def _with(obj: T, wanted: OwnerReference) -> T:
    """With wanted in place of a reference to the same owner, or to an earlier plain one of its name."""
    references = obj.metadata.owner_references
    # a dict, as owner and predecessor may both be there
    updated = dict.fromkeys(wanted if _gives_way(each, wanted) else each for each in references)
    updated[wanted] = None
    return obj if tuple(updated) == references else _with_references(obj, tuple(updated))


def _gives_way(present: OwnerReference, wanted: OwnerReference) -> bool:
    return present.uid == wanted.uid or (not present.controller and _is_of_one_name(present, wanted))


def is_of_predecessor(reference: OwnerReference, owner: Kind) -> bool:
    """Whether a reference leads to an earlier object of an owner's kind and name."""
    return reference.uid != owner.metadata.uid and _is_of_one_name(reference, new_controller_ref(owner))


def _is_of_one_name(one: OwnerReference, other: OwnerReference) -> bool:
    """Whether both name one owner: its group, kind and name, of any version."""
    return (one.kind, one.name, one.api_version.rpartition("/")[0]) == (
        other.kind,
        other.name,
        other.api_version.rpartition("/")[0],
    )


def _with_references(obj: T, references: tuple[OwnerReference, ...]) -> T:
    return replace(obj, metadata=replace(obj.metadata, owner_references=references))


def _new_reference(obj: Kind, owner: Kind) -> OwnerReference:
    """A controller's reference. The garbage collector must find the owner, or it deletes obj."""
    if not isinstance(owner, Kind):
        raise TypeError(f"an owner is an object, such as the one that is reconciled, not {owner!r}")
    try:
        reference = new_controller_ref(owner)
    except ValueError as error:
        raise OwnerError(str(error)) from None
    there, here = owner.metadata.namespace, obj.metadata.namespace
    if owner.resource.namespaced and there != here:
        place = f"namespace {here}" if here else "the whole cluster"
        what = f"{owner.resource.kind} {owner.metadata.name}"
        if obj.resource.namespaced and not here:
            child = f"{obj.resource.kind} {obj.metadata.name}"
            raise OwnerError(f"{child} has no namespace: give it that of {what}, {there!r}")
        raise OwnerError(f"{what} of namespace {there} cannot own an object of {place}")
    return reference
