"""What an annotation keeps of an object."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import pytest

from handloop.apis.kept_fields import annotation_of, brought_back, kept_values, put_away
from handloop.apis.meta import Kind


class Site(Kind, group="example.org", version="v1"):
    """Keeps two fields."""

    kept_fields: ClassVar = ("spec.hosts", "spec.tls.secret")


def _back(obj: dict[str, Any], text: str) -> dict[str, Any]:
    for path, entry in kept_values(Site, text):
        obj = brought_back(obj, path, entry) or obj
    return obj


@pytest.mark.parametrize(
    ("spec", "returned"),
    [
        ({"hosts": ["a", "b"]}, {"hosts": ["a"]}),
        ({"hosts": ["a"]}, {}),
        ({}, {"hosts": ["a"]}),
        ({"hosts": None}, {"hosts": []}),
        ({"tls": {"secret": "s"}}, {}),
        ({"tls": {"secret": "s", "x": 1}}, {"tls": {"x": 1}}),
        ({"hosts": ["é" * 3]}, {"hosts": ["a"], "other": 1}),
    ],
)
def test_what_the_functions_would_lose_comes_back(spec: dict[str, Any], returned: dict[str, Any]) -> None:
    """And is not put where something else is by now."""
    text = put_away(Site, {"spec": spec}, {"spec": returned})
    others = {key: value for key, value in returned.items() if key not in ("hosts", "tls")}
    assert _back({"spec": returned}, text) == {"spec": spec | others}
    changed = {"hosts": ["z"], "tls": {"secret": "z"}}
    assert _back({"spec": changed}, text) == {"spec": changed}


def test_what_the_functions_bring_back_is_not_kept() -> None:
    """Most objects have no annotation."""
    obj = {"spec": {"hosts": ["a"], "tls": {"secret": "s"}}}
    assert put_away(Site, obj, obj) == ""
    assert put_away(Kind, obj, {}) == ""
    assert annotation_of(Site) == "example.org/kept-v1"


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "{", "[" * 5000, "7", '{"spec.hosts":[]}', '{"x":{"is":1}}']
)
def test_a_text_that_is_none_of_ours_keeps_nothing(text: str) -> None:
    """Anybody who may write the object may write it."""
    assert list(kept_values(Site, text)) == []


def test_a_field_that_is_not_named_is_not_brought_back() -> None:
    """Whatever somebody writes into the annotation."""
    text = json.dumps({"metadata.name": {"made": "", "is": "b"}, "spec.port": {"made": "", "is": 0}})
    assert _back({"spec": {}}, text) == {"spec": {}}
