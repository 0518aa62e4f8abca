"""
Owner references: who an object goes with, and whose reconcile it leads to.

Pure functions; the object that comes back is still to be written.
Follows: controller-runtime pkg/controller/controllerutil, differs: what has nothing to do is the same object.
"""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from handloop.apis.meta import Kind, OwnerReference, controller_of, new_controller_ref

T = TypeVar("T", bound=Kind)


class OwnerError(ValueError):
    """An owner that cannot be: the server, or the garbage collector, would take it amiss."""


class AlreadyOwnedError(OwnerError):
    """Another object controls this one: it is not to be taken away from it. Fields: owner, who that is."""

    def __init__(self, obj: Kind, owner: OwnerReference) -> None:
        what = f"{obj.resource.kind} {obj.metadata.namespace}/{obj.metadata.name}"
        super().__init__(f"{what} is already controlled by {owner.kind} {owner.name}")
        self.owner = owner


def with_controller(obj: T, owner: Kind) -> T:
    """
    The object under the control of owner, which owns() of a builder and garbage collection go by.

    Raises: AlreadyOwnedError; OwnerError for an owner in another namespace, or without a UID.
    """
    present = controller_of(obj)
    if present is not None and present.uid != owner.metadata.uid:
        raise AlreadyOwnedError(obj, present)
    return _with(obj, owner, new_controller_ref(owner))


def with_owner(obj: T, owner: Kind) -> T:
    """
    The object with one more owner, with the last of which it goes; who controls it stays as it is.

    Raises: OwnerError for an owner in another namespace, or without a UID.
    """
    if any(reference.uid == owner.metadata.uid for reference in obj.metadata.owner_references):
        return obj
    return _with(obj, owner, replace(new_controller_ref(owner), controller=False, block_owner_deletion=False))


def without_owner(obj: T, owner: Kind) -> T:
    """The object without that owner, by UID."""
    references = obj.metadata.owner_references
    kept = tuple(reference for reference in references if reference.uid != owner.metadata.uid)
    return obj if len(kept) == len(references) else _with_references(obj, kept)


def _with(obj: T, owner: Kind, reference: OwnerReference) -> T:
    _check(obj, owner)
    references = obj.metadata.owner_references
    if reference in references:
        return obj
    others = tuple(each for each in references if each.uid != reference.uid)
    return _with_references(obj, (*others, reference))


def _with_references(obj: T, references: tuple[OwnerReference, ...]) -> T:
    return replace(obj, metadata=replace(obj.metadata, owner_references=references))


def _check(obj: Kind, owner: Kind) -> None:
    """An owner must be where the garbage collector looks for it, or the object is deleted."""
    what = f"{owner.resource.kind} {owner.metadata.name}"
    if not owner.metadata.uid:
        raise OwnerError(f"{what} has no UID: it must have been read from the server")
    there, here = owner.metadata.namespace, obj.metadata.namespace
    if owner.resource.namespaced and there != here:
        place = f"namespace {here}" if here else "the whole cluster"
        raise OwnerError(f"{what} of namespace {there} cannot own an object of {place}")
