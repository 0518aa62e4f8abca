"""
Finalizers: the server keeps an object until each controller has cleaned up and removed its finalizer.

Follows: controller-runtime pkg/controller/controllerutil, differs: the change is a patch that applies only to
the version that was read, so that another controller's finalizer is never lost.
"""

from __future__ import annotations

from typing import Any, TypeVar

from handloop.apis.meta import Kind
from handloop.client.resource_client import ResourceClient

T = TypeVar("T", bound=Kind)


def has_finalizer(obj: Kind, finalizer: str) -> bool:
    """Return whether the object has that finalizer."""
    return finalizer in obj.metadata.finalizers


def is_being_deleted(obj: Kind) -> bool:
    """Return whether the object has been marked for deletion, and waits for its finalizers to be removed."""
    return obj.metadata.deletion_timestamp is not None


def add_finalizer(client: ResourceClient[T], obj: T, finalizer: str, *, field_manager: str = "") -> T:
    """
    Add a finalizer to an object that is not being deleted. If the object already has it, send no request.

    Returns: the updated object. Raises: Conflict if the object has changed since it was read.
    """
    if has_finalizer(obj, finalizer):
        return obj
    return _write(client, obj, [*obj.metadata.finalizers, finalizer], field_manager)


def remove_finalizer(client: ResourceClient[T], obj: T, finalizer: str, *, field_manager: str = "") -> T:
    """
    Remove a finalizer, so that the object can be deleted. If the object does not have it, send no request.

    Returns: the updated object. Raises: Conflict if the object has changed since it was read.
    """
    if not has_finalizer(obj, finalizer):
        return obj
    kept = [each for each in obj.metadata.finalizers if each != finalizer]
    return _write(client, obj, kept, field_manager)


def _write(client: ResourceClient[T], obj: T, finalizers: list[str], field_manager: str) -> T:
    metadata = obj.metadata
    patch: dict[str, Any] = {
        "metadata": {
            "uid": metadata.uid,
            "resourceVersion": metadata.resource_version,
            "finalizers": finalizers,
        }
    }
    return client.patch(
        metadata.name, patch, namespace=metadata.namespace, field_manager=field_manager or None
    )
