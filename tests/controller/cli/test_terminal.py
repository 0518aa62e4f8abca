"""Text of others on a terminal and in a log."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handloop.controller.cli.terminal import printable, show


@pytest.mark.parametrize("text", ["", "two words", "é 字 ✓ · ×", "😀", 'say "no"', "C:\\x"])  # noqa: RUF001 - times
def test_what_can_be_seen_stays(text: str) -> None:
    """Letters and signs of all languages, and quotes and backslashes, are as they were."""
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", r"\u001b[2J"),
        ("a\r\n\tb", r"a\r\n\tb"),
        ("\x7f\x9b", r"\u007f\u009b"),
        ("\u2028\u202e\ufeff", r"\u2028\u202e\ufeff"),
        ("\U000e0001", r"\udb40\udc01"),
        ("\ud800", r"\ud800"),
    ],
    ids=ascii,
)
def test_what_acts_unseen_is_spelt_out(text: str, shown: str) -> None:
    """Controls, DEL, ends of lines, marks of direction and order, tags, half a pair: as JSON has them."""
    assert printable(text) == shown


@given(st.text())
def test_nothing_gets_through_and_json_keeps_its_meaning(text: str) -> None:
    """From any text, the output is one line of visible characters, and decodes to the same."""
    shown = printable(json.dumps(text, ensure_ascii=False))
    assert shown.isprintable()
    assert json.loads(shown) == text


def test_lines_reach_a_stream_that_lacks_a_character() -> None:
    """In the escapes of JSON, so that JSON stays JSON; they are not lost."""
    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, encoding="cp437")
    show('✓ "é→😀"', stream)
    assert buffer.getvalue() == rb'+ "\u00e9\u2192\ud83d\ude00"'
