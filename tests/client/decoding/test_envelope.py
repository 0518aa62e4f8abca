from __future__ import annotations

import pytest

from handloop.client.decoding.envelope import read_envelope
from handloop.client.errors import DecodeError


def test_reads_kind_and_name() -> None:
    """The outside of an object is read without its type."""
    envelope = read_envelope(
        b'{"kind":"Foo","apiVersion":"g/v1","spec":[],"metadata":{"namespace":"ns","name":"n",'
        b'"resourceVersion":"5","annotations":{"a":"b"}}}'
    )
    assert (envelope.kind, envelope.api_version) == ("Foo", "g/v1")
    assert (envelope.namespace, envelope.name, envelope.resource_version) == ("ns", "n", "5")
    assert envelope.annotations == {"a": "b"}


@pytest.mark.parametrize(
    "raw",
    [
        b"{}",
        b'{"metadata":null}',
        b'{"metadata":[]}',
        b'{"kind":1,"apiVersion":{},"metadata":{"name":5,"namespace":[],"resourceVersion":7,"annotations":"x"}}',
    ],
    ids=repr,
)
def test_wrong_types_count_as_absent(raw: bytes) -> None:
    """An envelope has strings only."""
    envelope = read_envelope(raw)
    assert (envelope.kind, envelope.api_version, envelope.namespace) == ("", "", "")
    assert (envelope.name, envelope.resource_version, envelope.annotations) == ("", "", {})


@pytest.mark.parametrize(
    "raw", [b"", b"null", b"[]", b'"x"', b"{", b"{}{}", b"[" * 5000], ids=lambda raw: repr(raw[:9])
)
def test_what_is_no_object_is_an_error(raw: bytes) -> None:
    """The one error type, for anything that came instead of an object."""
    with pytest.raises(DecodeError, match="not an object"):
        read_envelope(raw)


def test_reads_past_deep_nesting() -> None:
    """An object that is too deep for a decoder still has its name."""
    raw = b'{"spec":' + b"[" * 50_000 + b"]" * 50_000 + b',"metadata":{"name":"n","resourceVersion":"1"}}'
    assert read_envelope(raw).name == "n"
