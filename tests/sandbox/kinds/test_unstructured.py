from __future__ import annotations

import pytest

from sandbox.kinds.unstructured import restoring

_INTO = "json: cannot unmarshal"


@pytest.mark.parametrize(
    ("complaint", "restored"),
    [
        (f"{_INTO} array into Go struct field ConfigMap.metadata of type v1.ObjectMeta", "cannot restore struct from: slice"),
        (f"{_INTO} number into Go struct field ConfigMap.metadata of type v1.ObjectMeta", "cannot restore struct from: int64"),
        (f"{_INTO} array into Go struct field ObjectMeta.metadata.labels of type string", "unrecognized type: string"),
        (f"{_INTO} number into Go struct field .kind of type string", "cannot convert int64 to string"),
        (f"{_INTO} number 1.5 into Go struct field S.spec.replicas of type int32", "cannot convert float64 to int32"),
        (f"{_INTO} string into Go struct field S.data of type map[string]string", "cannot restore map from string"),
        (f"{_INTO} object into Go struct field S.ports of type []v1.ServicePort", "cannot restore slice from map"),
        ("illegal base64 data at input byte 3", "error decoding from json: illegal base64 data at input byte 3"),
        ("quantities must match", "quantities must match"),
    ],
)  # fmt: skip
def test_complaints_in_the_words_of_the_converter(complaint: str, restored: str) -> None:
    """What JSON decoding says about a value is said as for a value that was decoded before."""
    assert restoring(complaint) == restored
