from __future__ import annotations

from handloop.sandbox.custom.selectable_rules import selectable_causes

_SPEC = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}
_SCHEMA = {"openAPIV3Schema": {"type": "object", "properties": {"spec": _SPEC}}}


def _said(*paths: str) -> list[tuple[str, str]]:
    version = {"schema": _SCHEMA, "selectableFields": [{"jsonPath": path} for path in paths]}
    return [(cause.field, cause.message) for cause in selectable_causes("f", version)]


def test_fields_that_can_be_selected_by() -> None:
    """Texts, numbers and truths of the schema."""
    assert _said(".spec.a", ".spec.b") == []


def test_fields_that_cannot() -> None:
    """A path is of the schema, leads to a plain value, and is there once."""
    wrong = {
        "": "Required value",
        "spec": 'Invalid value: "spec": is an invalid path: expected [ or . but got: spec',
        ".spec.z": 'Invalid value: ".spec.z": is an invalid path: does not refer to a valid field',
        ".spec.a[0]": 'Invalid value: ".spec.a[0]": is an invalid path: array notation is not allowed',
    }
    for path, text in wrong.items():
        assert _said(path) == [("f[0].jsonPath", text)]
    assert _said(".spec")[0][1].endswith("Enum string fields and strings with formats are allowed.")
    assert _said(".spec.a", ".spec.a") == [("f[1].jsonPath", 'Duplicate value: ".spec.a"')]
    assert _said(*[f".spec.{name}" for name in "ab"], *[".spec.a"] * 7)[0][0] == "f"
