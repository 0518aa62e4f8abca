"""How leader election is set up."""

from __future__ import annotations

import pytest

from handloop.controller.runtime.election.config import LeaderElectionConfig
from handloop.controller.runtime.election.lease_lock import LeaseLock
from support.rigs.election import LeaseAPI


def lock(identity: str) -> LeaseLock:
    """A lock under that identity."""
    return LeaseLock(LeaseAPI().client(), namespace="demo", name="foo", identity=identity)


@pytest.mark.parametrize("durations", [(15.0, 10.0, 2.0), (15.0, 2.0, 1.0), (1.0, 0.5, 0.1), (3.9, 2.5, 1.0)])
def test_good_durations_are_accepted(durations: tuple[float, float, float]) -> None:
    """The usual ones, client-go's test's, short ones for tests, and one whose rest does no harm."""
    LeaderElectionConfig(lock("baz"), *durations).validate()


def test_an_identity_is_needed() -> None:
    """Two candidates without a name would both think that they lead."""
    with pytest.raises(ValueError, match=r"^Lock identity is empty$"):
        LeaderElectionConfig(lock("")).validate()


def test_the_usual_durations() -> None:
    """15 s, 10 s, 2 s, and released on a stop."""
    config = LeaderElectionConfig(lock("baz"))
    assert (config.lease_duration_seconds, config.renew_deadline_seconds) == (15.0, 10.0)
    assert (config.retry_period_seconds, config.release_on_cancel) == (2.0, True)
