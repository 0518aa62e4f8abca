"""
The names of objects: store keys, object names, and tombstones for objects whose deletion was missed.

A store key is `namespace/name`, or `name` for a cluster-scoped object.
Follows: client-go tools/cache (store.go, object-names.go, controller.go, delta_fifo.go).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, NamedTuple, TypeVar

from handloop.apis.meta import Object

T = TypeVar("T")

KeyFunc = Callable[[Any], str]
"""
Returns the store key of an object or, for deletions, of a tombstone.

It is pure, and raises if there is no key.
"""

_SHOWN_CHARACTERS: Final = 200

_new_tuple = tuple.__new__  # creates an ObjectName at half the cost of its constructor


class CacheError(Exception):
    """The base class for errors of stores and FIFOs."""


class NoMetaError(CacheError):
    """An object has no object metadata, but a name was needed."""

    def __init__(self, obj: object) -> None:
        super().__init__(f"object has no meta: {type(obj).__name__} has no object metadata")


class KeyFormatError(CacheError, ValueError):
    """A string that is not a store key."""

    def __init__(self, key: str) -> None:
        super().__init__(f'unexpected key format: "{key}"')


class StoreKeyError(CacheError):
    """A key function failed on an object; `cause` is its error. Retrying does not help."""

    def __init__(self, obj: object, cause: Exception) -> None:
        shown = repr(obj)
        if len(shown) > _SHOWN_CHARACTERS:
            shown = shown[:_SHOWN_CHARACTERS] + "..."
        super().__init__(f"couldn't create key for object {shown}: {cause}")
        self.obj = obj
        self.cause = cause
        self.__cause__ = cause


class ObjectName(NamedTuple):
    """An object's namespace and name. The namespace of a cluster-scoped object is ""."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class DeletedFinalStateUnknown(NamedTuple, Generic[T]):
    """
    A tombstone for an object whose deletion was missed: a watch broke, and the next list lacks the object.

    obj is the last known state, which may be stale, or None if no state is known.
    """

    key: str
    obj: T | None


class Departed(DeletedFinalStateUnknown[Any]):
    """A tombstone for an object that was not deleted, but must leave the cache. No handler is called."""


def object_name(obj: Object) -> ObjectName:
    """
    Return the name of an object with metadata.

    Raises: NoMetaError if the object has no metadata.
    """
    try:
        metadata = obj.metadata
        return _new_tuple(ObjectName, (metadata.namespace, metadata.name))
    except AttributeError as error:
        raise NoMetaError(obj) from error


def parse_object_name(key: str) -> ObjectName:
    """
    Split a store key into its parts. A single part is a name without a namespace.

    Raises: KeyFormatError if the key has more than one slash.
    """
    parts = key.split("/")
    if len(parts) == 1:
        return ObjectName("", key)
    if len(parts) == 2:  # noqa: PLR2004 - namespace and name
        return ObjectName(parts[0], parts[1])
    raise KeyFormatError(key)


def namespace_of_key(key: str) -> str:
    """Return the part of a store key before its first slash: the namespace, or "" if there is no slash."""
    namespace, slash, _ = key.partition("/")
    return namespace if slash else ""


def meta_namespace_key_func(obj: Object) -> str:
    """
    Return the store key of an object.

    Raises: NoMetaError if the object has no metadata.
    """
    try:
        metadata = obj.metadata
        namespace = metadata.namespace
        name = metadata.name
    except AttributeError as error:
        raise NoMetaError(obj) from error
    return f"{namespace}/{name}" if namespace else name


def deletion_handling_meta_namespace_key_func(obj: Object | DeletedFinalStateUnknown[Any]) -> str:
    """
    Return the store key of an object or a tombstone. This is the key function of every informer's store.

    Raises: NoMetaError if the object has no metadata.
    """
    try:
        metadata = obj.metadata  # type: ignore[union-attr] # a tombstone takes the slower path below
        namespace = metadata.namespace
        name = metadata.name
    except AttributeError as error:
        if isinstance(obj, DeletedFinalStateUnknown):
            return obj.key
        raise NoMetaError(obj) from error
    return f"{namespace}/{name}" if namespace else name


def deletion_handling_object_to_name(obj: Object | DeletedFinalStateUnknown[Any]) -> ObjectName:
    """
    Return the name of an object, or the name in a tombstone's key.

    Raises: NoMetaError if the object has no metadata; KeyFormatError if the tombstone's key is invalid.
    """
    if isinstance(obj, DeletedFinalStateUnknown):
        return parse_object_name(obj.key)
    return object_name(obj)


def final_state(obj: T | DeletedFinalStateUnknown[T]) -> T | None:
    """Return the object, or a tombstone's last state. No other function unwraps tombstones."""
    if isinstance(obj, DeletedFinalStateUnknown):
        return obj.obj
    return obj
