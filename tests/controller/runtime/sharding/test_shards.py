"""The settings of shards."""

from __future__ import annotations

from typing import Any

import pytest

from handloop.controller.runtime.election.election import LeaseTerms
from handloop.controller.runtime.sharding.shards import Shards


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"count": 0}, "count must be 1 to 256, not 0"),
        ({"count": 257}, "count must be 1 to 256, not 257"),
        ({"count": 16, "by": "name"}, """by must be "namespace" or "uid", not 'name'"""),
        ({"count": 16, "settle_seconds": -1.0}, "settle_seconds must be 0 or more, not -1"),
        ({"count": 16, "lease": "demo/" + "a" * 64}, "needs 1 to 63 lowercase letters"),
        ({"count": 16, "lease": "demo/"}, "needs 1 to 63 lowercase letters"),
        ({"count": 16, "renew_deadline_seconds": 20.0}, "leaseDuration must be greater than renewDeadline"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], words: str) -> None:
    """Each in words that say what is right."""
    with pytest.raises(ValueError, match=words):
        Shards(**settings)


def test_the_leases_are_named_after_the_program_or_as_asked_for() -> None:
    """With the namespace of the pod, or the lease's own, and the durations of the shards."""
    pod = {"POD_NAMESPACE": "mine"}
    assert Shards(16).terms("op", pod) == LeaseTerms(namespace="mine", name="op")
    shards = Shards(4, "uid", lease="demo/slots", retry_period_seconds=1.0)
    assert shards.terms("op", pod) == LeaseTerms(namespace="demo", name="slots", retry_period_seconds=1.0)
    assert str(shards) == "4 slots by uid"
