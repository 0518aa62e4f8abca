from __future__ import annotations

import pytest

from handloop_sandbox.cel.check import check
from handloop_sandbox.cel.tokens import CelSyntaxError
from handloop_sandbox.cel.types import read_type

_FIELDS = {"Obj": {"i": read_type("int"), "l": read_type("list(Obj)"), "m": read_type("map(string, int)")}}
_SELF = {"self": read_type("Obj")}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("self.i + 1", "int"),
        ("self.l.map(x, x.i)", "list(int)"),
        ("self.m.filter(k, self.m[k] > 1)", "list(string)"),
        ("self.m.transformMap(k, v, [v])", "map(string, list(int))"),
        ("self.?l[0].?i", "optional_type(int)"),
        ("[]", "list(dyn)"),
        ("[dyn(1), dyn('a')][0]", "dyn"),
        ("type(self.i)", "type(int)"),
        ("self.l.all(x, x == self)", "bool"),
    ],
)
def test_types_of_expressions(text: str, kind: str) -> None:
    """They follow from those of the variables."""
    assert check(text, _SELF, _FIELDS).result == read_type(kind)


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("self.x + y", ["undefined field 'x'", "undeclared reference to 'y' (in container '')"]),
        ("self.i.x", ["type 'int' does not support field selection"]),
        ("self.i == 'a'", ["found no matching overload for '_==_' applied to '(int, string)'"]),
        ("self.i.size()", ["found no matching overload for 'size' applied to 'int.()'"]),
        ("self.i && true", ["expected type 'bool' but found 'int'"]),
        ("[1, 'a']", ["expected type 'int' but found 'string'"]),
        ("{1: 2, 'a': 3}", ["expected type 'int' but found 'string'"]),
        ("duration('1x')", ["invalid duration argument"]),
    ],
)
def test_what_is_wrong(text: str, messages: list[str]) -> None:
    """All of it is told."""
    with pytest.raises(CelSyntaxError) as caught:
        check(text, _SELF, _FIELDS)
    assert [problem.message for problem in caught.value.problems] == messages
