"""How the lines of a watch are written."""

from __future__ import annotations

import pytest

from handloop_sandbox.watch_answer import messages, one_chunk


def test_lines_are_one_chunk() -> None:
    """With its size in hexadecimal."""
    assert one_chunk([b"a\n", b"b" * 14]) == b"10\r\na\n" + b"b" * 14 + b"\r\n"


@pytest.mark.parametrize(
    ("size", "head"),
    [
        (125, "817d"),
        (126, "817e007e"),
        (65_535, "817effff"),
        (65_536, "817f0000000000010000"),
    ],
)
def test_each_line_is_a_message(size: int, head: str) -> None:
    """RFC 6455, 5.2: final, text, without a mask, the size in one, two or eight bytes."""
    line = b"x" * size
    assert messages([line, b"y\n"]) == bytes.fromhex(head) + line + b"\x81\x02y\n"
