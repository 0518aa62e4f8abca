from __future__ import annotations

import pytest

from handloop_learn import ch07_backoff
from support.checks.chapters import told


def test_a_key_waits_twice_as_long_each_time() -> None:
    """The tenth failure waits 2.56 s, none more than 1000 s, one after a success 5 ms; a crowd is paced."""
    end, text = told(ch07_backoff.chapter)
    assert end.delays == pytest.approx([min(0.005 * 2**failures, 1000) for failures in range(20)])
    assert "= 2.56 s" in text
    assert end.after_success == 0.005
    assert end.crowd[:300] == [0.005] * 300
    assert end.crowd[300:] == pytest.approx([number / 50 for number in range(1, 101)])
