"""A process of the operator."""

from __future__ import annotations

import threading

from handloop_explore.plan import Plan
from handloop_explore.play import play
from handloop_explore.workload import Workload


def test_a_process_that_ends_by_itself_is_seen() -> None:
    """With its error."""

    class Broken:
        name = "broken"

        def run(self, _stop: threading.Event) -> None:
            raise ValueError("out of order")

    played = play(Workload(lambda manager: manager.add(Broken()), ()), Plan())
    assert "out of order" in played.died
