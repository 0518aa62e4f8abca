from __future__ import annotations

from typing import Any

import pytest

from handloop.apis.compatibility.schema_changes import lost_paths, schema_changes

_TEXT = {"type": "string"}
_KEEP = {"x-kubernetes-preserve-unknown-fields": True}


def _object(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields}


def _map(values: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


_SPEC = _object(
    a=_TEXT, inner=_object(b=_TEXT), parts=_list(_object(c=_TEXT)), named=_map(_object(d=_TEXT)), free=_KEEP
)


def _found(old: Any, new: Any) -> list[tuple[str, str, str]]:
    return [
        (each.rule, each.severity, each.path) for each in schema_changes(_object(spec=old), _object(spec=new))
    ]


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({}, []),
        ({"new": _TEXT}, []),
        ({"a": {"type": "integer"}}, [("type", "breaks", "spec.a")]),
        ({"inner": _object(b={"type": "integer"})}, [("type", "breaks", "spec.inner.b")]),
        ({"parts": _list(_object(c={"type": "integer"}))}, [("type", "breaks", "spec.parts[].c")]),
        ({"named": _map(_object(d={"type": "integer"}))}, [("type", "breaks", "spec.named{}.d")]),
        ({"inner": None}, [("field", "breaks", "spec.inner")]),
        ({"parts": _list(_object())}, [("field", "breaks", "spec.parts[].c")]),
        (
            {"inner": _object() | _KEEP},
            [("preserve-unknown-fields", "warns", "spec.inner"), ("field", "warns", "spec.inner.b")],
        ),
        ({"inner": _map(_TEXT)}, [("shape", "breaks", "spec.inner")]),
        ({"named": _object(d=_TEXT)}, [("shape", "breaks", "spec.named")]),
        ({"inner": _TEXT}, [("type", "breaks", "spec.inner")]),
        (
            {"free": _object(x=_TEXT)},
            [("type", "breaks", "spec.free"), ("preserve-unknown-fields", "breaks", "spec.free")],
        ),
    ],
)
def test_a_change_is_told_where_it_is(changed: dict[str, Any], found: list[tuple[str, str, str]]) -> None:
    """Once, at the outermost field that is gone; in lists and maps, too."""
    fields = {name: part for name, part in {**_SPEC["properties"], **changed}.items() if part is not None}
    assert _found(_SPEC, _object(**fields)) == found


def test_what_may_be_a_new_name_is_named() -> None:
    """A field that is gone beside a new one of its type: nothing is copied."""
    other = _map(_TEXT)
    (change,) = schema_changes(_object(old=_TEXT, other=other), _object(new=_TEXT, other=other))
    assert change.message.startswith("was removed: stored values are silently erased at the next write")
    assert change.message.endswith("; if new is its new name, the values are not copied there")


def test_what_every_object_has_is_left_out() -> None:
    """A definition may name it, and the server has its own idea of it."""
    old, new = _object(apiVersion=_TEXT, metadata=_object(name=_TEXT)), _object(spec=_object())
    assert list(schema_changes(old, new)) == []


@pytest.mark.parametrize(
    ("other", "lost"),
    [
        (_SPEC, []),
        (_object(a=_TEXT), ["inner", "parts", "named", "free"]),
        (_object(**{**_SPEC["properties"], "inner": _object()}), ["inner.b"]),
        (_object(**{**_SPEC["properties"], "parts": _list(_object())}), ["parts[].c"]),
        (_object(**{**_SPEC["properties"], "named": _map(_object())}), ["named{}.d"]),
        (_object(**{**_SPEC["properties"], "inner": _KEEP}), []),
        (_object(**{**_SPEC["properties"], "inner": _map(_TEXT)}), []),
    ],
)
def test_what_another_schema_would_erase(other: dict[str, Any], lost: list[str]) -> None:
    """The outermost fields of which it knows nothing."""
    assert list(lost_paths(_SPEC, other, "")) == lost
