from __future__ import annotations

import pytest

from handloop_learn.exercise import WrongError, expect


def test_expect() -> None:
    """The message of a wrong answer has the observed result, with its hint."""
    expect(True, "nothing", "none")
    with pytest.raises(WrongError, match="it rained") as caught:
        expect([], "it rained", "take an umbrella")
    assert caught.value.hint == "take an umbrella"
