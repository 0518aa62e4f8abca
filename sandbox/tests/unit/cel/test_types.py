from __future__ import annotations

import pytest

from handloop_sandbox.cel.types import (
    DYN,
    INT,
    Bindings,
    fits,
    list_of,
    optional_of,
    read_type,
    resolved,
    wider_of,
)


@pytest.mark.parametrize(
    ("given", "wanted", "does"),
    [
        ("int", "int", True),
        ("int", "double", False),
        ("list(int)", "list(int)", True),
        ("list(int)", "list(dyn)", True),
        ("list(int)", "map(int, int)", False),
        ("null", "timestamp", True),
        ("null", "kubernetes.URL", True),
        ("null", "string", False),
        ("null", "list(int)", False),
        ("null", "null", True),
        ("type(int)", "type(string)", True),
        ("dyn", "int", True),
    ],
)
def test_types_fit(given: str, wanted: str, does: bool) -> None:
    """Equal ones, unknown ones, and null where there are objects."""
    assert fits({}, read_type(given), read_type(wanted)) is does


def test_variables_stand_for_one_type() -> None:
    """The first that fits, or the wider one."""
    bindings: Bindings = {}
    assert fits(bindings, read_type("list(int)"), read_type("list(A)"))
    assert resolved(bindings, read_type("map(A, B)")) == read_type("map(int, B)")
    assert resolved(bindings, read_type("map(A, B)"), open_ends=True) == read_type("map(int, dyn)")
    assert not fits(bindings, read_type("string"), read_type("A"))
    assert fits(bindings, DYN, read_type("A"))
    assert resolved(bindings, read_type("A")) == DYN


def test_a_variable_is_not_within_itself() -> None:
    """A list of its own kind has no type."""
    assert not fits({}, read_type("list(A)"), read_type("A"))


def test_types_are_written_as_they_are_read() -> None:
    """Variables without their mark."""
    assert str(read_type("optional_type(map(string, list(A)))")) == "optional_type(map(string, list(A)))"
    assert wider_of(list_of(INT), list_of(DYN)) == list_of(DYN)
    assert wider_of(optional_of(INT), optional_of(INT)) == optional_of(INT)
