from __future__ import annotations

import pytest

from handloop_sandbox.kinds import protobuf
from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.storage.catalog import Catalog
from handloop_sandbox.wire.status import StatusError
from support.builders.thing import THINGS
from support.checks.rows import check_rows
from support.recorded.object_cases import check_protobuf
from support.recorded.recordings import recorded

_CATALOG = Catalog((*builtin_resources(), THINGS))


def _field(number: int, data: bytes) -> bytes:
    """A length-delimited field."""
    assert len(data) < 128
    return bytes((number << 3 | 2, len(data))) + data


def _envelope(api_version: str, kind: str, raw: bytes) -> bytes:
    about = _field(1, api_version.encode()) + _field(2, kind.encode())
    return b"k8s\x00" + _field(1, about) + _field(2, raw)


def test_objects_are_read_as_they_are() -> None:
    """The bytes of a real server hold the object that it shows as JSON."""
    check_rows(recorded("objects"), check_protobuf)


def test_a_config_map() -> None:
    """Envelope, metadata and a map, byte by byte."""
    data = _field(2, _field(1, b"k") + _field(2, b"v"))
    found = protobuf.decode(_envelope("v1", "ConfigMap", _field(1, _field(1, b"a")) + data), _CATALOG)
    assert found == {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}, "data": {"k": "v"}}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{}", 400),
        (_envelope("v1", "ConfigMap", b"\x0a\x7f"), 400),
        (_envelope("v1", "ConfigMap", b"\x48" + b"\x80" * 10 + b"\x01"), 400),
        (_envelope("v1", "ConfigMap", b"\x00\x00"), 400),
        (_envelope("v1", "ConfigMap", b"\x08\x01"), 400),
        (_envelope("v1", "ConfigMap", _field(1, b"\x08\x01")), 400),
        (_envelope("v1", "ConfigMap", _field(4, b"\x01")), 400),
        (_envelope("v1", "ConfigMap", _field(1, _field(8, _field(1, b"1")))), 400),
        (_envelope("v1", "ConfigMap", _field(1, b"\x8a\x01\x05" + _field(7, _field(1, b"{")))), 400),
        (_envelope(THINGS.api_version, "Thing", b""), 415),
        (_envelope("nosuch.io/v1", "Nothing", b""), 415),
    ],
)
def test_what_cannot_be_read(body: bytes, code: int) -> None:
    """No envelope, bytes that end too early, endless numbers, wrong wire types, kinds without messages."""
    with pytest.raises(StatusError) as caught:
        protobuf.decode(body, _CATALOG)
    assert caught.value.code == code


def test_a_number_ends_after_ten_bytes() -> None:
    """A body that is one endless number is refused at once; to add up its bits would take hours."""
    with pytest.raises(StatusError, match="integer overflow"):
        protobuf.decode(b"k8s\0" + b"\xff" * 8_000_000, _CATALOG)


def test_bytes_that_are_no_envelope_are_named() -> None:
    """With the real server's words."""
    with pytest.raises(StatusError) as caught:
        protobuf.decode(b"{}", _CATALOG)
    assert caught.value.status["message"] == (
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
    )


def test_delete_options() -> None:
    """An empty body has none; a policy is a field."""
    assert protobuf.decode_delete_options(b"") == {}
    body = _envelope("v1", "DeleteOptions", _field(4, b"Foreground"))
    assert protobuf.decode_delete_options(body) == {"propagationPolicy": "Foreground"}
    with pytest.raises(StatusError):
        protobuf.decode_delete_options(b"{}")
