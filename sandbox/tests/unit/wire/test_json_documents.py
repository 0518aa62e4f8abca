"""YAML as JSON."""

from __future__ import annotations

import pytest

from handloop_sandbox.wire.json_documents import json_documents

_BOMB = "\n".join(["- &a0 [x]", *(f"- &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10))])


def test_it_is_what_kubectl_sends() -> None:
    """Keys are strings, and what an alias repeats is written out."""
    first, empty, last = json_documents("{1: &a [x], null: *a}\n---\n---\n5")
    assert (first, empty, last) == ({"1": ["x"], "null": ["x"]}, None, 5)
    assert first["1"] is not first["null"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: {{ .b }}: c", "mapping values are not allowed"),
        ("a: !!binary eA==", "bytes"),
        ("a: &a {b: *a}", "an alias refers to a value that contains it"),
        ("- " * 3000, "recursion"),
        (_BOMB, "its aliases expand to too many values"),
    ],
)
def test_what_has_no_json_is_refused(text: str, says: str) -> None:
    """With a ValueError, and soon."""
    with pytest.raises(ValueError, match=says):
        json_documents(text)
