from __future__ import annotations

from typing import Any

import pytest

from handloop.sandbox.wire import options
from handloop.sandbox.wire.query import EMPTY_QUERY, Query
from handloop.sandbox.wire.status import StatusError


def _refused(query: str, **more: Any) -> str:
    with pytest.raises(StatusError) as raised:
        options.list_options(Query.parse(query), **more)
    return str(raised.value)


def test_the_defaults() -> None:
    """Nothing asked is everything, once, from now."""
    found = options.list_options(EMPTY_QUERY)
    assert (found.watch, found.limit, found.resource_version, found.selective) == (False, 0, "", False)
    assert options.write_options(EMPTY_QUERY, "CreateOptions").field_validation == "Warn"
    assert options.delete_options(EMPTY_QUERY, None) == options.DeleteOptions()


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, False), ("false", False), ("False", False), ("0", False), ("", True), ("1", True), ("yes", True)],
)
def test_booleans_are_generous(value: str | None, expected: bool) -> None:
    """Everything but absence, `false` and `0` is true."""
    assert options.boolean(value) is expected


def test_numbers_are_not() -> None:
    """A number that does not parse or does not fit is 400 with Go's words."""
    assert options.integer("5") == 5
    assert options.integer("") is None
    with pytest.raises(StatusError, match='parsing "abc": invalid syntax'):
        options.integer("abc")
    with pytest.raises(StatusError, match="value out of range"):
        options.integer("9" * 30)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "resourceVersionMatch=Exact",
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        (
            "resourceVersion=0&resourceVersionMatch=Exact",
            'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
        ),
        ("resourceVersion=5&resourceVersionMatch=Sort", 'supported values: "Exact", "NotOlderThan", ""'),
        ("resourceVersion=5&sendInitialEvents=1", "sendInitialEvents is forbidden for list"),
        (
            "watch=1&resourceVersion=5&resourceVersionMatch=NotOlderThan",
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ),
        (
            "watch=1&sendInitialEvents=1",
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ),
        ("watch=1&continue=x", "resourceVersionMatch is forbidden when continue is provided"),
    ],
)
def test_contradictions_in_a_list(query: str, message: str) -> None:
    """Options that contradict each other are refused in the server's words."""
    text = _refused(query)
    assert text.startswith('ListOptions.meta.k8s.io "" is invalid: ')
    assert message in text


def test_resource_versions() -> None:
    """A version that does not parse is 400 for a list and 500 for a get or a watch."""
    assert options.list_resource_version("") is None
    assert options.watch_resource_version("17") == 17
    for read, code in ((options.list_resource_version, 400), (options.watch_resource_version, 500)):
        with pytest.raises(StatusError, match="invalid syntax") as raised:
            read("abc")
        assert raised.value.code == code


@pytest.mark.parametrize(
    ("query", "kind", "apply", "message"),
    [
        ("fieldValidation=Nope", "CreateOptions", False, 'fieldValidation: Unsupported value: "Nope"'),
        (
            "dryRun=Some",
            "UpdateOptions",
            False,
            'dryRun: Unsupported value: ["Some"]: supported values: "All"',
        ),
        (f"fieldManager={'f' * 129}", "CreateOptions", False, "Too long: may not be more than 128 bytes"),
        ("fieldManager=a%0ab", "CreateOptions", False, "invalid character U+000A (at position 1)"),
        ("", "PatchOptions", True, "fieldManager: Required value: is required for apply patch"),
        ("force=true", "PatchOptions", False, "force: Forbidden: may not be specified for non-apply patch"),
    ],
)
def test_wrong_write_options(query: str, kind: str, apply: bool, message: str) -> None:
    """Write options are checked by the rules of their verb."""
    with pytest.raises(StatusError) as raised:
        options.write_options(Query.parse(query), kind, apply=apply)
    assert str(raised.value).startswith(f'{kind}.meta.k8s.io "" is invalid: ')
    assert message in str(raised.value)


def test_good_write_options() -> None:
    """Dry run, manager, validation and force are taken over."""
    query = Query.parse("dryRun=All&fieldManager=me&fieldValidation=Strict&force=true")
    found = options.write_options(query, "PatchOptions", apply=True)
    assert (found.dry_run, found.field_manager, found.field_validation, found.force) == (
        True,
        "me",
        "Strict",
        True,
    )


def test_the_body_of_a_delete_wins() -> None:
    """A body replaces the query's options altogether."""
    query = Query.parse("gracePeriodSeconds=5&propagationPolicy=Orphan&uid=q&dryRun=x")
    body = {"gracePeriodSeconds": 7, "preconditions": {"uid": "b", "resourceVersion": "9"}}
    found = options.delete_options(query, body)
    assert (found.grace_seconds, found.propagation, found.uid, found.resource_version) == (7, "", "b", "9")
    from_query = options.delete_options(Query.parse("gracePeriodSeconds=5&orphanDependents=1"), None)
    assert (from_query.grace_seconds, from_query.orphan) == (5, True)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"propagationPolicy": "Foo"}, 'supported values: "Foreground", "Background", "Orphan", "nil"'),
        (
            {"propagationPolicy": "Foreground", "orphanDependents": True},
            "orphanDependents and deletionPropagation cannot be both set",
        ),
        ({"dryRun": ["Bad"]}, 'dryRun: Unsupported value: ["Bad"]'),
    ],
)
def test_wrong_delete_options(body: dict[str, Any], message: str) -> None:
    """Delete options are checked in the server's words."""
    with pytest.raises(StatusError) as raised:
        options.delete_options(EMPTY_QUERY, body)
    assert message in str(raised.value)
