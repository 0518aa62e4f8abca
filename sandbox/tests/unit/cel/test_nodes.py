from __future__ import annotations

import pytest

from handloop_sandbox.cel.nodes import Name, escape_member, unescape_member, walk
from handloop_sandbox.cel.syntax import parse


def test_a_walk_meets_every_node() -> None:
    """In lists, maps, calls, selections and indices alike."""
    tree = parse("[a, {b: c}].d[e].f(g) + h")
    assert {node.name for node in walk(tree) if isinstance(node, Name)} == set("abcegh")


@pytest.mark.parametrize(
    ("name", "written"),
    [("a-b", "a__dash__b"), ("c.d/e", "c__dot__d__slash__e"), ("__x", "__underscores__x"), ("if", "__if__")],
)
def test_names_are_escaped(name: str, written: str) -> None:
    """And back."""
    assert escape_member(name) == written
    assert unescape_member(written) == name


@pytest.mark.parametrize("name", ["", "1x", "a$"])
def test_names_that_cannot_be_written(name: str) -> None:
    """Expressions do not see such properties."""
    assert escape_member(name) is None
