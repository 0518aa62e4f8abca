"""The shipped wait, under the name that most tests import; with a deadline that each of them names."""

from handloop.testing.eventually import PAUSE_SECONDS
from handloop.testing.eventually import eventually as until

__all__ = ["PAUSE_SECONDS", "until"]
