"""The shipped clock, under the name that most tests import."""

from handloop.testing.fake_clock import FakeClock

__all__ = ["FakeClock"]
