"""Which durations make sense together."""

from __future__ import annotations

import pytest

from handloop.controller.runtime.election.config import LeaderElection, validate_durations
from handloop.controller.runtime.election.lease_lock import LeaseLock
from support.lease_api import LeaseAPI


def lock(identity: str) -> LeaseLock:
    """A lock under that identity."""
    return LeaseLock(LeaseAPI().client(), namespace="demo", name="foo", identity=identity)


@pytest.mark.parametrize("durations", [(15.0, 10.0, 2.0), (15.0, 2.0, 1.0), (1.0, 0.5, 0.1), (3.9, 2.5, 1.0)])
def test_good_durations_are_accepted(durations: tuple[float, float, float]) -> None:
    """LE-16: the usual ones, client-go's test's, short ones for tests, and one whose rest does no harm."""
    LeaderElection(lock("baz"), *durations).validate()


@pytest.mark.parametrize(
    ("durations", "text"),
    [
        ((10.0, 10.0, 2.0), "leaseDuration must be greater than renewDeadline"),
        ((10.0, 15.0, 20.0), "leaseDuration must be greater than renewDeadline"),
        ((15.0, 12.0, 10.0), "renewDeadline must be greater than retryPeriod*JitterFactor"),
        ((15.0, 2.4, 2.0), "renewDeadline must be greater than retryPeriod*JitterFactor"),
        ((0.0, -1.0, -2.0), "leaseDuration must be greater than zero"),
        ((1.0, 0.0, -2.0), "renewDeadline must be greater than zero"),
        ((2.0, 1.0, 0.0), "retryPeriod must be greater than zero"),
        ((float("nan"), 1.0, 0.5), "leaseDuration must be greater than renewDeadline"),
        (
            (2.9, 2.5, 1.0),
            "leaseDuration counts as 2s for others, which must be greater than renewDeadline",
        ),
        (
            (0.9, 0.5, 0.1),
            "leaseDuration counts as 0s for others, which must be greater than renewDeadline",
        ),
    ],
)
def test_the_first_broken_rule_is_named(durations: tuple[float, float, float], text: str) -> None:
    """LE-16, LE-26, D04: in client-go's order and words; the last rule, on whole seconds, is ours."""
    with pytest.raises(ValueError) as error:
        validate_durations(*durations)
    assert str(error.value) == text


def test_an_identity_is_needed() -> None:
    """LE-16: two candidates without a name would both think that they lead."""
    with pytest.raises(ValueError, match=r"^Lock identity is empty$"):
        LeaderElection(lock("")).validate()


def test_the_usual_durations() -> None:
    """15 s, 10 s, 2 s, and released on a stop."""
    config = LeaderElection(lock("baz"))
    assert (config.lease_duration_seconds, config.renew_deadline_seconds) == (15.0, 10.0)
    assert (config.retry_period_seconds, config.release_on_cancel) == (2.0, True)
