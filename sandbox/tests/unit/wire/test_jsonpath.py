from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.wire import jsonpath

_OBJECT: dict[str, Any] = {
    "a": {"b": [1, 2, {"c": "x"}], "n": None},
    "dotted.name": "d",
    "list": [
        {"type": "Ready", "status": "True", "n": 1},
        {"type": "Other", "status": "False", "n": 5},
        {"type": "Third", "n": 2.5},
    ],
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".a.b[0]", [1]),
        ("a.b[-1].c", ["x"]),
        ("$.a.b[1]", [2]),
        (".a['b'][0]", [1]),
        ('.a["b"][0]', [1]),
        (".dotted\\.name", ["d"]),
        (".a.n", [None]),
        (".a.z", []),
        (".a.b[7]", []),
        (".a.b[0:2]", [1, 2]),
        (".a.b[::2]", [1, {"c": "x"}]),
        (".a.b[]", [1, 2, {"c": "x"}]),
        (".a.b[*]", [1, 2, {"c": "x"}]),
        (".list[*].type", ["Ready", "Other", "Third"]),
        ("..c", ["x"]),
        ('.list[?(@.type=="Ready")].status', ["True"]),
        (".list[?(@.type=='Ready')].status", ["True"]),
        (".list[?(@.n>1)].type", ["Other", "Third"]),
        (".list[?(@.n<=2.5)].type", ["Ready", "Third"]),
        (".list[?(@.type!='Ready')].n", [5, 2.5]),
        (".list[?(@.status)].n", [1, 5]),
        (".list[?(@.status=='none')]", []),
        (".a[?(@.b)]", []),
    ],
)
def test_what_a_path_finds(path: str, found: list[Any]) -> None:
    """Members, indices, slices, wildcards, descent and filters; nothing where there is nothing."""
    assert jsonpath.parse(path).find(_OBJECT) == found


@pytest.mark.parametrize("path", [".a[", ".a[x]", ".a b", ".list[?(@.a==)]", ".a..", ".a[?(@.x==y)]"])
def test_what_is_no_path(path: str) -> None:
    """A text that does not parse is refused, not half understood."""
    with pytest.raises(jsonpath.JSONPathError):
        jsonpath.parse(path)
