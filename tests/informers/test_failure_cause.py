"""What is behind an error."""

from __future__ import annotations

import pytest

from handloop.client.errors import ConnectionBroken, ConnectionRefused, DeadlineExceeded, TLSError
from handloop.informers.listing import ListFailed
from handloop.informers.outage import cause_of, is_unanswered
from support.fake_lister_watcher import api_error


def _behind(cause: Exception, error: Exception) -> Exception:
    error.__cause__ = cause
    return error


def test_behind_ours_is_theirs() -> None:
    """A failed list failed because of what the server said."""
    said = api_error(403, "Forbidden")
    assert cause_of(_behind(said, ListFailed("failed to list"))) is said


def test_behind_theirs_is_a_detail() -> None:
    """That a connection was refused is the cause, not the number that the system has for it."""
    refused = _behind(ConnectionRefusedError(111, "refused"), ConnectionRefused("refused"))
    assert cause_of(refused) is refused


@pytest.mark.parametrize("error", [None, ListFailed("failed to list"), ValueError("a bug")], ids=repr)
def test_what_has_nothing_behind_it_is_the_cause_itself(error: Exception | None) -> None:
    """So is nothing."""
    assert cause_of(error) is error


@pytest.mark.parametrize(
    ("error", "unanswered"),
    [
        (ConnectionRefused("refused"), True),
        (ConnectionBroken("reset"), True),
        (DeadlineExceeded("10 s"), True),
        (_behind(ConnectionRefused("refused"), ListFailed("failed to list")), True),
        (TLSError("unknown authority"), False),
        (api_error(500, "InternalError"), False),
        (None, False),
    ],
    ids=repr,
)
def test_no_answer_shows_in_several_ways(error: Exception | None, unanswered: bool) -> None:
    """Refused, cut off, or silent; a server that is not trusted, or fails, is there."""
    assert is_unanswered(error) is unanswered
