from __future__ import annotations

import json
from typing import Any, Final

import pytest

from handloop_sandbox.custom.conversion_review import ReviewError, answered, problem_of, review, version_of

_THING: Final[dict[str, Any]] = {
    "apiVersion": "g/v1",
    "kind": "Thing",
    "metadata": {"name": "a", "namespace": "n", "uid": "u"},
}
_AS_V2 = {**_THING, "apiVersion": "g/v2"}


def _answer(**response: Any) -> bytes:
    document = review("v1", "r", [], "g/v2") | {
        "response": {"uid": "r", "result": {"status": "Success"}} | response
    }
    return json.dumps(document).encode()


def test_the_first_version_that_is_understood_is_used() -> None:
    """The definition's order counts."""
    assert version_of({"conversionReviewVersions": ["v2", "v1beta1", "v1"]}) == "v1beta1"


def test_a_right_answer_has_its_objects() -> None:
    """In their order; null is none."""
    assert answered(_answer(convertedObjects=[_AS_V2, {}]), "v1", "r") == [_AS_V2, {}]
    assert answered(_answer(convertedObjects=None), "v1", "r") == []


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            b"null",
            "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind=",
        ),
        (b'{"kind": 1e3, "apiVersion": "v1"', "unexpected end of JSON input"),
        (_answer(uid=7), "ConversionResponse.response.uid of type types.UID"),
        (_answer(result="x"), "ConversionResponse.response.result of type v1.Status"),
    ],
)
def test_a_wrong_answer(content: bytes, told: str) -> None:
    """The contract tests have the other ways."""
    with pytest.raises(ReviewError, match=told):
        answered(content, "v1", "r")


def test_an_object_is_compared_with_what_was_sent() -> None:
    """Its labels and annotations may differ."""
    assert problem_of(_THING, _AS_V2, "g/v2") == ""
    labelled = {**_AS_V2, "metadata": {**_THING["metadata"], "labels": {"a": "b"}, "annotations": None}}
    assert problem_of(_THING, labelled, "g/v2") == ""


@pytest.mark.parametrize(
    ("converted", "told"),
    [
        (None, "unexpected end of JSON input"),
        ("x", "json: cannot unmarshal string into Go value of type map[string]interface {}"),
        ({}, "Object 'Kind' is missing in '{}'"),
        ({**_AS_V2, "metadata": {"name": "a", "namespace": "n"}}, "must have the same UID: u != "),
        (
            {**_AS_V2, "metadata": {**_THING["metadata"], "labels": {"a b": "c d"}}},
            "metadata: [metadata.labels: Invalid",
        ),
        (
            {**_AS_V2, "metadata": {**_THING["metadata"], "labels": {"a": None}}},
            "but is <nil> in converted object",
        ),
    ],
)
def test_a_wrong_object(converted: Any, told: str) -> None:
    """What is no object has the decoder's words."""
    assert told in problem_of(_THING, converted, "g/v2")


def test_an_object_without_metadata() -> None:
    """A server-side apply can remove all of it, and then it cannot be converted."""
    bare = {"apiVersion": "g/v1", "kind": "Thing", "spec": {}}
    assert "missing metadata in converted object" in problem_of(bare, {**bare, "apiVersion": "g/v2"}, "g/v2")
    made = {**bare, "apiVersion": "g/v2", "metadata": {}}
    assert "invalid metadata of type <nil> in input object" in problem_of(bare, made, "g/v2")
