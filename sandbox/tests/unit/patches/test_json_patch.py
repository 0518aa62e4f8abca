from __future__ import annotations

import copy
from functools import partial
from typing import Any

import pytest

from handloop_sandbox.patches.json_patch import MAX_OPERATIONS, json_patch, same_json
from handloop_sandbox.wire.status import StatusError
from support.checks.rows import check_rows
from support.recorded.patch_cases import check
from support.recorded.recordings import recorded

_CURRENT, *_LINES = recorded("patches")
_UNDECODABLE = "error decoding patch: json: cannot unmarshal"
_OBJECT: dict[str, Any] = {"a": {"b": 1, "n": None}, "list": [1, 2, 3], "x/y": 1}


def test_patches_of_a_deployment_end_as_recorded() -> None:
    """What a real server made of random operations, right and wrong."""
    check_rows([line for line in _LINES if line["kind"] == "json"], partial(check, _CURRENT))


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        ({"op": "add", "path": "/a/c", "value": 2}, {"a": {"b": 1, "n": None, "c": 2}}),
        ({"op": "add", "path": "/list/-", "value": 4}, {"list": [1, 2, 3, 4]}),
        ({"op": "add", "path": "/list/0", "value": 0}, {"list": [0, 1, 2, 3]}),
        ({"op": "add", "path": "/list/-1", "value": 9}, {"list": [1, 2, 3, 9]}),
        ({"op": "remove", "path": "/list/-1"}, {"list": [1, 2]}),
        ({"op": "replace", "path": "/a/new", "value": 1}, {"a": {"b": 1, "n": None, "new": 1}}),
        ({"op": "replace", "path": "/x~1y", "value": 2}, {"x/y": 2}),
        ({"op": "move", "from": "/a/b", "path": "/c"}, {"a": {"n": None}, "c": 1}),
        ({"op": "copy", "from": "/list", "path": "/a/b"}, {"a": {"b": [1, 2, 3], "n": None}}),
        ({"op": "test", "path": "/a/n"}, {}),
        ({"op": "test", "path": "/a/missing", "value": None}, {}),
    ],
)
def test_operations(operation: dict[str, Any], result: dict[str, Any]) -> None:
    """Each operation, with what differs from the RFC; the object that was given stays as it is."""
    before = copy.deepcopy(_OBJECT)
    assert json_patch(_OBJECT, [operation]) == {**_OBJECT, **result}
    assert before == _OBJECT


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "frob", "path": "/a"},
        {"op": "add", "path": "a", "value": 1},
        {"op": "add", "path": "/list/7", "value": 1},
        {"op": "add", "path": "/list/x", "value": 1},
        {"op": "remove", "path": "/missing"},
        {"op": "remove", "path": "/a/b/c"},
        {"op": "test", "path": "/a/b", "value": 1.0},
        {"op": "test", "path": "/a/b", "value": True},
        {"op": "move", "path": "/a/b"},
    ],
)
def test_an_operation_that_fails_refuses_all(operation: dict[str, Any]) -> None:
    """422 with one text, for any fault."""
    with pytest.raises(StatusError) as caught:
        json_patch(_OBJECT, [operation])
    assert (caught.value.code, caught.value.status["reason"]) == (422, "Invalid")
    text = "the server rejected our request due to an error in our request"
    assert caught.value.status["message"] == text


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        (
            {"op": "add"},
            400,
            f"{_UNDECODABLE} object into Go value of type []handlers.jsonPatchOp",
        ),
        (
            [5],
            400,
            f"{_UNDECODABLE} number into Go value of type handlers.jsonPatchOp",
        ),
        (
            [{}] * (MAX_OPERATIONS + 1),
            413,
            "The allowed maximum operations in a JSON patch is 10000, got 10001",
        ),
    ],
)
def test_what_is_no_patch(patch: Any, code: int, message: str) -> None:
    """Anything but a list of a bounded number of operations."""
    with pytest.raises(StatusError) as caught:
        json_patch(_OBJECT, patch)
    assert (caught.value.code, caught.value.status["message"]) == (code, message)


def test_replacing_the_whole_object() -> None:
    """The empty path is the object; a list is no object."""
    assert json_patch(_OBJECT, [{"op": "replace", "path": "", "value": {"z": 1}}]) == {"z": 1}
    with pytest.raises(StatusError, match="cannot unmarshal array"):
        json_patch(_OBJECT, [{"op": "replace", "path": "", "value": []}])


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (1, 1, True),
        (1, 1.0, False),
        (1, True, False),
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ([1, 2], [2, 1], False),
    ],
)
def test_same_json(left: Any, right: Any, same: bool) -> None:
    """Values are the same if they are spelled alike."""
    assert same_json(left, right) is same


def test_copies_of_copies_end() -> None:
    """The sum of copies has a limit: thirty of them would be a thousand million values."""
    text = "x" * 1000
    doubling = [{"op": "copy", "from": "/data", "path": f"/data/{number}"} for number in range(30)]
    with pytest.raises(StatusError) as raised:
        json_patch({"data": {"a": text}}, doubling)
    assert raised.value.code == 422
    few = json_patch({"data": {"a": text}}, doubling[:5])
    assert set(few["data"]) == {"a", "0", "1", "2", "3", "4"}
