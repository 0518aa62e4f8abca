from __future__ import annotations

import pytest

from handloop.sandbox.kinds.unstructured import restoring

_FIELD = "json: cannot unmarshal {} into Go struct field S.spec.x of type {}"


@pytest.mark.parametrize(
    ("value", "go_type", "restored"),
    [
        ("array", "v1.ObjectMeta", "cannot restore struct from: slice"),
        ("number", "v1.ObjectMeta", "cannot restore struct from: int64"),
        ("array", "string", "unrecognized type: string"),
        ("number", "string", "cannot convert int64 to string"),
        ("number 1.5", "int32", "cannot convert float64 to int32"),
        ("string", "map[string]string", "cannot restore map from string"),
        ("object", "[]v1.ServicePort", "cannot restore slice from map"),
    ],
)
def test_complaints_in_the_words_of_the_converter(value: str, go_type: str, restored: str) -> None:
    """What JSON decoding says about a value is said as for a value that was decoded before."""
    assert restoring(_FIELD.format(value, go_type)) == restored


def test_other_complaints() -> None:
    """Base64 is decoded from JSON even then; what has nothing to do with types stays."""
    complaint = "illegal base64 data at input byte 3"
    assert restoring(complaint) == f"error decoding from json: {complaint}"
    assert restoring("quantities must match") == "quantities must match"
