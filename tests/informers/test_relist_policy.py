from __future__ import annotations

import pytest

from handloop.client.errors import (
    ConnectionBroken,
    ConnectionRefused,
    DeadlineExceeded,
    DecodeError,
    TLSError,
)
from handloop.informers.listing import ListFailed
from handloop.informers.relist_policy import (
    RelistPolicy,
    RelistReason,
    StaleBookmark,
    VeryShortWatch,
    may_open_again,
    relist_reason,
)
from support.checks.api_errors import api_error
from support.doubles.fake_lister_watcher import expired, gone, internal_error, too_large, too_many_requests


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (ConnectionRefused("refused"), True),
        (ConnectionBroken("reset"), True),
        (TLSError("expired"), True),
        (too_many_requests(), True),
        (internal_error(), True),
        (api_error(503, "ServiceUnavailable"), True),
        (api_error(504, "Timeout"), True),
        (too_large(), False),
        (expired(), False),
        (gone(), False),
        (api_error(403, "Forbidden"), False),
        (api_error(404, "NotFound"), False),
        (ValueError("anything"), False),
    ],
    ids=repr,
)
def test_which_watches_are_opened_again_without_a_list(error: Exception, again: bool) -> None:
    """No connection, 429 and 5xx do not concern our version; the others need a list."""
    assert may_open_again(error) is again


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (expired(), RelistReason.EXPIRED),
        (gone(), RelistReason.EXPIRED),
        (too_large(), RelistReason.TOO_LARGE),
        (StaleBookmark("past"), RelistReason.REWOUND),
        (api_error(403, "Forbidden"), RelistReason.ERROR),
        (ValueError("anything"), RelistReason.ERROR),
    ],
    ids=repr,
)
def test_reason_is_read_from_the_error_or_its_cause(error: Exception, reason: RelistReason) -> None:
    """An error that wraps the server's leads to the same."""
    wrapped = ListFailed("failed to list")
    wrapped.__cause__ = error
    assert relist_reason(error) is reason
    assert relist_reason(wrapped) is reason


def test_what_is_behind_the_servers_answer_does_not_matter() -> None:
    """An APIError that was raised while another error was handled is read as it is."""
    error = expired()
    error.__cause__ = ValueError("a detail")
    assert relist_reason(error) is RelistReason.EXPIRED


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (expired(), RelistReason.EXPIRED),
        (internal_error(), RelistReason.ERROR),
        (too_many_requests(), None),
        (ConnectionBroken("reset"), None),
        (DecodeError("unterminated"), None),
        (VeryShortWatch("short"), None),
        (DeadlineExceeded("silent"), None),
    ],
    ids=repr,
)
def test_one_watch_that_ended_badly(error: Exception, reason: RelistReason | None) -> None:
    """Only the server's refusal of our version needs a list at once."""
    assert RelistPolicy().why_relist(error, brought_nothing=True) is reason


@pytest.mark.parametrize("error", [DecodeError("bad line"), VeryShortWatch("short")], ids=repr)
def test_watches_that_bring_nothing_lead_to_a_list_in_the_end(error: Exception) -> None:
    """The fifth unreadable or very short watch in a row; then the count starts again."""
    decide = RelistPolicy()
    reasons = [decide.why_relist(error, brought_nothing=True) for _ in range(10)]
    assert reasons == [*[None] * 4, RelistReason.UNREADABLE, *[None] * 4, RelistReason.UNREADABLE]


def test_event_in_between_starts_the_count_again() -> None:
    """A watch that gets on, however slowly, needs no list."""
    decide = RelistPolicy()
    for _ in range(10):
        for _ in range(4):
            assert decide.why_relist(DecodeError("cut"), brought_nothing=True) is None
        decide.events_came(bookmarks=False)
        assert decide.why_relist(DecodeError("cut"), brought_nothing=False) is None


def test_broken_connections_alone_never_lead_to_a_list() -> None:
    """A proxy that cuts idle connections costs a new watch each time, nothing more."""
    decide = RelistPolicy()
    assert {decide.why_relist(ConnectionBroken("cut"), brought_nothing=True) for _ in range(50)} == {None}


def test_silence_of_a_server_that_sends_bookmarks_is_suspicious() -> None:
    """Two silent watches in a row, where bookmarks came before, lead to a list."""
    decide = RelistPolicy()
    decide.events_came(bookmarks=True)
    reasons = [decide.why_relist(DeadlineExceeded("silent"), brought_nothing=True) for _ in range(2)]
    assert reasons == [None, RelistReason.SILENT]


def test_silence_of_a_server_without_bookmarks_is_normal() -> None:
    """Where bookmarks never came, nothing is missed."""
    decide = RelistPolicy()
    decide.events_came(bookmarks=False)
    reasons = {decide.why_relist(DeadlineExceeded("silent"), brought_nothing=True) for _ in range(10)}
    assert reasons == {None}
