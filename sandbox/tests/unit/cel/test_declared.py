from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.cel.declared import REQUEST_BYTES, declared

_TEXT = {"type": "string"}
_ANYTHING = {"x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize(
    ("schema", "kind", "most"),
    [
        (_TEXT, "string", REQUEST_BYTES - 2),
        ({**_TEXT, "maxLength": 5}, "string", 20),
        ({**_TEXT, "enum": ["a", "abc"]}, "string", 3),
        ({**_TEXT, "format": "byte", "maxLength": 5}, "bytes", 5),
        ({**_TEXT, "format": "date-time"}, "timestamp", 32),
        ({"x-kubernetes-int-or-string": True}, "dyn", REQUEST_BYTES - 2),
        ({"type": "array", "items": _TEXT}, "list(string)", (REQUEST_BYTES - 2) // 3),
        ({"type": "array", "items": _TEXT, "maxItems": 4}, "list(string)", 4),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}},
            "map(string, int)",
            REQUEST_BYTES // 7,
        ),
    ],
)
def test_types_and_sizes(schema: dict[str, Any], kind: str, most: int) -> None:
    """A value is as large as its schema allows, or else as a request can hold."""
    found = declared(schema)
    assert found is not None
    assert (str(found.kind), found.most) == (kind, most)


def test_objects_have_the_fields_that_can_be_seen() -> None:
    """Not those without a type; required ones make the object larger."""
    schema = {"type": "object", "required": ["ab"], "properties": {"ab": _TEXT, "c": _ANYTHING, "d$": _TEXT}}
    found = declared(schema, "o")
    assert found is not None
    assert found.all_fields() == {"o": {"ab": found.fields["ab"].kind}}
    assert found.fewest_bytes == 2 + 2 + 2 + 4
    assert declared(_ANYTHING) is None
    assert declared({"type": "array", "items": _ANYTHING}) is None


def test_roots_have_metadata() -> None:
    """Of it the names only; an embedded resource is a root, too."""
    root = declared({"type": "object"}, "r", is_root=True)
    assert root is not None
    assert root.all_fields()["r.metadata"].keys() == {"name", "generateName"}
    inner = {"type": "object", "x-kubernetes-embedded-resource": True}
    outer = declared({"type": "object", "properties": {"a": inner}}, "o")
    assert outer is not None
    assert outer.all_fields()["o.a"].keys() == {"apiVersion", "kind", "metadata"}
