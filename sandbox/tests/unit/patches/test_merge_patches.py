from __future__ import annotations

import copy
from functools import partial
from typing import Any

import pytest

from handloop_sandbox.patches.merge_patches import merge_patch, strategic_merge_patch, without_nulls
from handloop_sandbox.wire.status import StatusError
from support.builders.builtin import builtin
from support.checks.rows import check_rows
from support.recorded.patch_cases import check
from support.recorded.recordings import recorded

_CURRENT, *_LINES = recorded("patches")
_POD: dict[str, Any] = {
    "metadata": {"labels": {"a": "1"}, "finalizers": ["x/a", "x/b"]},
    "spec": {
        "containers": [{"name": "a", "image": "a:1", "args": ["1", "2"]}, {"name": "b", "image": "b:1"}],
        "volumes": [{"name": "v", "emptyDir": {}}],
        "nodeSelector": {"disk": "ssd"},
    },
}


def test_patches_of_a_deployment_end_as_recorded() -> None:
    """What a real server made of random strategic merge patches, right and wrong."""
    check_rows([line for line in _LINES if line["kind"] == "strategic"], partial(check, _CURRENT))


def _patched(patch: dict[str, Any]) -> dict[str, Any]:
    schema = builtin("", "pods").schema
    assert schema is not None
    before = copy.deepcopy((_POD, patch))
    patched = strategic_merge_patch(_POD, patch, schema)
    assert (_POD, patch) == before
    return patched


def test_lists_are_merged_by_key() -> None:
    """A container is found by its name; one that is new goes last."""
    containers = _patched({"spec": {"containers": [{"name": "b", "image": "b:2"}, {"name": "c"}]}})
    assert containers["spec"]["containers"] == [
        {"name": "a", "image": "a:1", "args": ["1", "2"]},
        {"name": "b", "image": "b:2"},
        {"name": "c"},
    ]


def test_lists_without_keys_are_replaced() -> None:
    """Arguments are one value."""
    patched = _patched({"spec": {"containers": [{"name": "a", "args": ["3"]}]}})
    assert patched["spec"]["containers"][0]["args"] == ["3"]


def test_directives() -> None:
    """$patch deletes and replaces, $retainKeys keeps, null removes."""
    patch = {
        "metadata": {"labels": {"$patch": "replace", "b": "2"}},
        "spec": {
            "containers": [{"name": "b", "$patch": "delete"}],
            "volumes": [{"name": "v", "$retainKeys": ["name", "secret"], "secret": {"secretName": "s"}}],
            "nodeSelector": {"disk": None, "a": "b"},
        },
    }
    patched = _patched(patch)
    assert patched["metadata"]["labels"] == {"b": "2"}
    assert [entry["name"] for entry in patched["spec"]["containers"]] == ["a"]
    assert patched["spec"]["volumes"] == [{"name": "v", "secret": {"secretName": "s"}}]
    assert patched["spec"]["nodeSelector"] == {"a": "b"}


def test_lists_of_values_are_merged() -> None:
    """New finalizers go first; some can be taken out, and all put in order."""
    added = _patched({"metadata": {"finalizers": ["x/c"]}})
    assert added["metadata"]["finalizers"] == ["x/c", "x/a", "x/b"]
    removed = _patched({"metadata": {"$deleteFromPrimitiveList/finalizers": ["x/a"]}})
    assert removed["metadata"]["finalizers"] == ["x/b"]
    patch = {"$setElementOrder/finalizers": ["x/b", "x/a"], "finalizers": ["x/b"]}
    assert _patched({"metadata": patch})["metadata"]["finalizers"] == ["x/b", "x/a"]


def test_order_of_elements() -> None:
    """$setElementOrder puts containers in the order that the client saw."""
    patch = {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}], "containers": [{"name": "a"}]}
    patched = _patched({"spec": patch})
    assert [entry["name"] for entry in patched["spec"]["containers"]] == ["b", "a"]


def test_an_entry_without_its_key_is_refused() -> None:
    """A container without a name cannot be merged with any."""
    with pytest.raises(StatusError) as caught:
        _patched({"spec": {"containers": [{"image": "i"}]}})
    assert "does not contain declared merge key: name" in caught.value.status["message"]


def test_an_unknown_directive_is_refused() -> None:
    """Only delete, replace and merge are known."""
    with pytest.raises(StatusError) as caught:
        _patched({"metadata": {"labels": {"$patch": "frob"}}})
    assert "frob" in caught.value.status["message"]


_MERGED, *_LINES = recorded("patches")


def test_merge_patches_of_a_deployment_end_as_recorded() -> None:
    """What a real server made of random merge patches, right and wrong."""
    check_rows([line for line in _LINES if line["kind"] == "merge"], partial(check, _MERGED))


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
