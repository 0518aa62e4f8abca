from __future__ import annotations

import pytest

from handloop.testing import eventually


def test_it_looks_again_and_returns_what_it_saw() -> None:
    """Until the value is true."""
    answers = iter(["", "", "there"])
    assert eventually(lambda: next(answers), "there") == "there"


def test_it_gives_up_at_the_deadline() -> None:
    """With the words of the caller."""
    with pytest.raises(AssertionError, match="after 0 s still not there"):
        eventually(lambda: False, "there", seconds=0)
