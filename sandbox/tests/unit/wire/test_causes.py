from __future__ import annotations

import pytest

from handloop_sandbox.wire import causes
from handloop_sandbox.wire.status import Cause


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ('a"b', '"a\\"b"'),
        (5, "5"),
        (1.5, "1.5"),
        (True, "true"),
        ({"a": [1]}, '{"a":[1]}'),
        (["é"], '["é"]'),
    ],
)
def test_how_values_are_shown(value: object, text: str) -> None:
    """Values in messages are JSON without spaces."""
    assert causes.shown(value) == text


def test_the_reasons_and_texts() -> None:
    """Each kind of field error has its reason and its sentence."""
    assert causes.invalid_value("f", 1, "no") == Cause("FieldValueInvalid", "Invalid value: 1: no", "f")
    assert causes.invalid_type("f", "string", "t").reason == "FieldValueTypeInvalid"
    assert causes.required("f").message == "Required value"
    assert causes.required("f", "why").message == "Required value: why"
    assert causes.not_supported("f", "z", ("x", "y")).message == (
        'Unsupported value: "z": supported values: "x", "y"'
    )
    assert causes.duplicate("f", "a").message == 'Duplicate value: "a"'
    assert causes.forbidden_field("f", "no").message == "Forbidden: no"
    assert causes.too_long("f", 3).message == "Too long: may not be more than 3 bytes"
    assert causes.too_many("f", 4, 3).message == "Too many: 4: must have at most 3 items"
