"""E13: a server that was not tested."""

from __future__ import annotations

import pytest

from handloop.controller.cli.problems import EXIT_OK
from handloop.controller.cli.version_skew import NEWEST, OLDEST, version_skew


@pytest.mark.parametrize(
    "version",
    ["v1.28.0", "v1.31.4-gke.100", "v1.36.3+k3s1", "1.30", "", "unknown", f"v{NEWEST[0]}.{NEWEST[1]}.9"],
)
def test_a_tested_version_is_not_worth_a_word(version: str) -> None:
    """E13: also with a vendor's suffix; a version that nobody knows is not guessed at."""
    assert version_skew(version) is None


def test_an_old_server_is_named_with_what_is_lost() -> None:
    """E13: a warning, and it goes on."""
    problem = version_skew("v1.21.3")
    assert problem is not None
    tested = f"{OLDEST[0]}.{OLDEST[1]}-{NEWEST[0]}.{NEWEST[1]}"
    assert problem.what == f"server v1.21.3 is older than the tested range {tested}"
    assert (problem.severity, problem.exit_code, problem.code) == ("warning", EXIT_OK, "E13")
    assert problem.causes[0].startswith("going on without streamed first lists (lists in pages instead)")


def test_a_new_server_is_named() -> None:
    """E13: nothing is known to be missing."""
    problem = version_skew("v1.99.0")
    assert problem is not None
    assert "is newer than the tested range" in problem.what
    assert problem.causes == ("going on; nothing known is missing",)


def test_the_next_major_version_is_newer() -> None:
    """E13: numbers are compared, not texts."""
    problem = version_skew("v2.0.0")
    assert problem is not None
    assert "newer" in problem.what
