from __future__ import annotations

import copy
from functools import partial
from typing import Any

import pytest

from handloop_sandbox.patches.merge_patches import merge_patch, without_nulls
from support.checks.rows import check_rows
from support.recorded.patch_cases import check
from support.recorded.recordings import recorded

_CURRENT, *_LINES = recorded("patches")


def test_patches_of_a_deployment_end_as_recorded() -> None:
    """What a real server made of random strategic merge patches, right and wrong."""
    check_rows([line for line in _LINES if line["kind"] == "strategic"], partial(check, _CURRENT))


def test_merge_patches_of_a_deployment_end_as_recorded() -> None:
    """What a real server made of random merge patches, right and wrong."""
    check_rows([line for line in _LINES if line["kind"] == "merge"], partial(check, _CURRENT))


@pytest.mark.parametrize(
    ("current", "patch", "merged"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": 1}, {"a": {"b": None, "c": [None]}}, {"a": {"c": [None]}}),
        ({"a": {"x": 1}}, {"a": [{"b": None}]}, {"a": [{"b": None}]}),
    ],
)
def test_merging(current: dict[str, Any], patch: dict[str, Any], merged: dict[str, Any]) -> None:
    """The examples of RFC 7386, and where the server's library differs; neither argument is changed."""
    before = copy.deepcopy((current, patch))
    assert merge_patch(current, patch) == merged
    assert (current, patch) == before


def test_without_nulls() -> None:
    """Members that are null go at any depth; elements of lists stay."""
    assert without_nulls({"a": None, "b": {"c": None}, "d": [None, {"e": None}]}) == {
        "b": {},
        "d": [None, {}],
    }
    assert without_nulls(5) == 5
