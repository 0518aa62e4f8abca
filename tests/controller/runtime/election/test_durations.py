"""Which durations make sense together."""

from __future__ import annotations

import pytest

from handloop.controller.runtime.election.durations import validate_durations


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
            "leaseDuration, rounded down to 2s, must be greater than renewDeadline",
        ),
        (
            (0.9, 0.5, 0.1),
            "leaseDuration, rounded down to 0s, must be greater than renewDeadline",
        ),
    ],
)
def test_the_first_broken_rule_is_named(durations: tuple[float, float, float], text: str) -> None:
    """In client-go's order and words; the last rule, on whole seconds, is ours."""
    with pytest.raises(ValueError) as error:
        validate_durations(*durations)
    assert str(error.value) == text
