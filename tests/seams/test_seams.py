"""Clock, random numbers and threads, as one argument."""

from __future__ import annotations

import pytest

from handloop.seams.seams import Seams


class OnlyTheTime:
    """A clock for reading."""

    def time(self) -> float:
        return 0.0


def test_a_clock_of_another_shape_is_refused() -> None:
    """A clock without waits cannot be waited on; threads would die of it one by one."""
    with pytest.raises(TypeError, match="not a handloop Clock: it lacks now, wait, wait_until, sleep"):
        Seams(clock=OnlyTheTime())  # type: ignore[arg-type] # the point
