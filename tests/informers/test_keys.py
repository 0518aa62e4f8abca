"""
Keys and names of objects.

Upstream's explicit keys have no subject here: a key function always gets an object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from handloop.apis.meta import ObjectMeta
from handloop.controller.foo.types import Foo
from handloop.informers.keys import (
    DeletedFinalStateUnknown,
    KeyFormatError,
    KeyFunc,
    NoMetaError,
    ObjectName,
    StoreKeyError,
    deletion_handling_meta_namespace_key_func,
    deletion_handling_object_to_name,
    final_state,
    meta_namespace_key_func,
    object_name,
    parse_object_name,
)

FOO = Foo(metadata=ObjectMeta(namespace="a", name="b"))
CLUSTER_SCOPED = Foo(metadata=ObjectMeta(name="b"))


@pytest.mark.parametrize("key_func", [meta_namespace_key_func, deletion_handling_meta_namespace_key_func])
@pytest.mark.parametrize(("obj", "key"), [(FOO, "a/b"), (CLUSTER_SCOPED, "b")], ids=str)
def test_key_of_an_object(key_func: KeyFunc, obj: object, key: str) -> None:
    """Namespace and name; the bare name without a namespace."""
    assert key_func(obj) == key


def test_key_of_a_tombstone() -> None:
    """A tombstone carries its key; only the deletion-handling function knows it."""
    tombstone = DeletedFinalStateUnknown("x/y", None)
    assert deletion_handling_meta_namespace_key_func(tombstone) == "x/y"
    with pytest.raises(NoMetaError):
        meta_namespace_key_func(tombstone)  # type: ignore[arg-type] # the point


@pytest.mark.parametrize(
    "function", [meta_namespace_key_func, deletion_handling_meta_namespace_key_func, object_name]
)
def test_an_object_without_metadata_has_no_key(function: Callable[[Any], object]) -> None:
    """The error names the reason, and the type of the object."""
    with pytest.raises(NoMetaError, match=r"^object has no meta: int has no object metadata$"):
        function(1)


@pytest.mark.parametrize(
    ("key", "namespace", "name"),
    [("a/b", "a", "b"), ("b", "", "b"), ("", "", ""), ("/x", "", "x"), ("a/", "a", "")],
)
def test_split_a_key(key: str, namespace: str, name: str) -> None:
    """Two parts or one; empty parts are parts."""
    assert parse_object_name(key) == (namespace, name)


def test_a_key_has_at_most_two_parts() -> None:
    """Three parts are an error with the key in it."""
    with pytest.raises(KeyFormatError, match=r'^unexpected key format: "a/b/c"$'):
        parse_object_name("a/b/c")


@pytest.mark.parametrize("namespace", ["", "ns"])
def test_object_name_round_trip(namespace: str) -> None:
    """A name parsed from its text is the same name. Follows TestObjectNames."""
    name = ObjectName(namespace, "name")
    assert parse_object_name(str(name)) == name
    assert str(name) == (f"{namespace}/name" if namespace else "name")


def test_object_name_of_an_object() -> None:
    """From metadata; a tombstone's from its key. Follows TestDeletionHandlingObjectToName."""
    assert object_name(FOO) == ObjectName("a", "b")
    assert deletion_handling_object_to_name(FOO) == ObjectName("a", "b")
    assert deletion_handling_object_to_name(DeletedFinalStateUnknown("x/y", None)) == ObjectName("x", "y")


def test_a_tombstone_with_a_bad_key_has_no_name() -> None:
    """Its key must be one."""
    with pytest.raises(KeyFormatError):
        deletion_handling_object_to_name(DeletedFinalStateUnknown("a/b/c", FOO))


def test_store_key_error_wraps_its_cause() -> None:
    """The direct cause, as every exception has it. Follows TestKeyError."""
    cause = ValueError("original")
    inner = StoreKeyError(1, cause)
    outer = StoreKeyError(2, inner)
    assert outer.cause is inner
    assert outer.__cause__ is inner
    assert inner.__cause__ is cause
    assert str(outer) == ("couldn't create key for object 2: couldn't create key for object 1: original")


def test_store_key_error_does_not_quote_a_whole_object() -> None:
    """A message stays readable, and an object's data out of the log."""
    message = str(StoreKeyError("x" * 10_000, ValueError("why")))
    assert message == f"couldn't create key for object '{'x' * 199}...: why"


def test_final_state_unwraps_tombstones() -> None:
    """The object of a tombstone, None if it knows none, and any other object itself."""
    assert final_state(FOO) is FOO
    deleted: list[Foo | DeletedFinalStateUnknown[Foo]] = [
        DeletedFinalStateUnknown("a/b", FOO),
        DeletedFinalStateUnknown("a/b", None),
    ]
    assert [final_state(obj) for obj in deleted] == [FOO, None]
