from __future__ import annotations

from handloop_sandbox.wire.protobuf_output import content, double, text, whole


def test_fields() -> None:
    """A field is its tag, for bytes their length, and the value; large numbers take several bytes."""
    assert text(1, "ä") == b"\x0a\x02\xc3\xa4"
    assert content(2, b"") == b"\x12\x00"
    assert whole(6, 300) == b"\x30\xac\x02"
    assert double(31, 1.0) == b"\xf9\x01" + bytes(6) + b"\xf0\x3f"
