from __future__ import annotations

from typing import Any

from handloop.apis.time import format_time
from handloop.sandbox.cluster.autoscaler_status import ABLE, ACTIVE, AutoscalerStatus

_NOW = 1_700_000_000.0


def _changed(status: dict[str, Any] | None, *says: tuple[str, str, bool], now: float = _NOW) -> Any:
    found = AutoscalerStatus({"status": status} if status else {}, now)
    for kind, reason, holds in says:
        found.say(kind, reason, f"because {reason}", holds=holds)
    return found.changed()


def test_conditions_keep_their_order_and_the_time_of_their_last_turn() -> None:
    """A new reason alone moves no time; a new status does."""
    first = _changed(None, (ABLE, "A", True), (ACTIVE, "B", True))
    second = _changed(first, (ACTIVE, "C", False), (ABLE, "D", True), now=_NOW + 60)
    assert [(c["type"], c["status"], c["reason"], c["message"]) for c in second["conditions"]] == [
        (ABLE, "True", "D", "because D"),
        (ACTIVE, "False", "C", "because C"),
    ]
    assert [c["lastTransitionTime"] for c in second["conditions"]] == [
        format_time(_NOW),
        format_time(_NOW + 60),
    ]


def test_a_status_that_is_there_is_not_written() -> None:
    """Nothing new is None, whatever empty fields the server stored."""
    first = _changed(None, (ABLE, "A", True))
    assert first["desiredReplicas"] == 0
    assert _changed({**first, "currentMetrics": None, "currentReplicas": 0}, (ABLE, "A", True)) is None


def test_counts_replace_what_was_found_before() -> None:
    """desired=None leaves the number as it was; the time of scaling is only set by scaling."""
    before = {
        "desiredReplicas": 4,
        "currentReplicas": 2,
        "currentMetrics": [{"type": ""}],
        "lastScaleTime": "x",
    }
    status = AutoscalerStatus({"status": before}, _NOW)
    status.count(current=3, desired=None, metrics=None)
    changed = status.changed()
    assert changed is not None
    assert (changed["currentReplicas"], changed["desiredReplicas"], changed["lastScaleTime"]) == (3, 4, "x")
    assert "currentMetrics" not in changed
    status.count(current=3, desired=5, metrics=[{"type": "Resource"}], scaled=True)
    changed = status.changed()
    assert changed is not None
    assert (changed["desiredReplicas"], changed["lastScaleTime"]) == (5, format_time(_NOW))
    assert before["currentReplicas"] == 2
