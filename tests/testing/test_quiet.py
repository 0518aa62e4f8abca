from __future__ import annotations

from collections.abc import Callable

import pytest

from handloop.testing import RequestAttributes, assert_quiet

PATCH = RequestAttributes("patch", "configmaps", "", False, "default", "a")


class Record:
    """Grows with each look, for as long as the test wants."""

    def __init__(self, grows: Callable[[int], bool]) -> None:
        self._grows = grows
        self._looks = 0
        self._writes: list[RequestAttributes] = []

    def writes(self) -> list[RequestAttributes]:
        self._looks += 1
        self._writes += [PATCH] * self._grows(self._looks)
        return list(self._writes)


def test_writes_that_end_are_fine() -> None:
    """While there is time to settle."""
    assert_quiet(Record(lambda look: look < 5), seconds=0.05)


@pytest.mark.parametrize("within_seconds", [0, 0.05])
def test_writes_without_an_end_are_not(within_seconds: float) -> None:
    """The message counts them and names the last."""
    words = r"not quiet: \d+ writes in [\d.]+ s, the last of them patch configmaps default/a"
    with pytest.raises(AssertionError, match=words):
        assert_quiet(Record(lambda _: True), seconds=0.05, within_seconds=within_seconds)


def test_without_time_to_settle_one_write_is_too_many() -> None:
    """Those from before the call do not count."""
    assert_quiet(Record(lambda look: look == 1), seconds=0.05, within_seconds=0)
    with pytest.raises(AssertionError, match="not quiet: 1 writes"):
        assert_quiet(Record(lambda look: look == 2), seconds=0.05, within_seconds=0)
