"""Too many connections: which of them go."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from handloop.controller.runtime.serving.connection_limit import ConnectionLimit
from support.checks.threads import Background

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pairs() -> Iterator[list[Pair]]:
    """Four connections, each as the server and as the client has it."""
    with ExitStack() as stack:
        made = [socket.socketpair() for _ in range(4)]
        for end in (end for pair in made for end in pair):
            stack.enter_context(end)
            end.settimeout(10)
        yield made


def is_open(pair: Pair) -> bool:
    """Whether the server's answer still arrives."""
    ours, theirs = pair
    try:
        ours.sendall(b"x")
    except BrokenPipeError:
        assert theirs.recv(1) == b""
        return False
    return theirs.recv(1) == b"x"


def test_the_oldest_goes_for_the_newest(pairs: list[Pair]) -> None:
    """Each new one is let in."""
    limit = ConnectionLimit(2)
    for ours, _ in pairs:
        limit.admit(ours)
    assert [is_open(pair) for pair in pairs] == [False, False, True, True]


def test_one_that_is_done_makes_room(pairs: list[Pair]) -> None:
    """Whether or not it was cut off before, and with a repeated close."""
    limit = ConnectionLimit(2)
    for ours, _ in pairs[:2]:
        limit.admit(ours)
    for _ in range(2):
        limit.leave(pairs[0][0])
    limit.admit(pairs[2][0])
    assert [is_open(pair) for pair in pairs] == [True] * 4


def test_one_that_is_closed_already_harms_nothing(pairs: list[Pair]) -> None:
    """The client may go in the moment in which it is cut off."""
    limit = ConnectionLimit(1)
    limit.admit(pairs[0][0])
    pairs[0][0].close()
    limit.admit(pairs[1][0])
    assert is_open(pairs[1])


def test_one_that_asks_is_as_new(pairs: list[Pair]) -> None:
    """The most silent goes; one that was cut off does not come back."""
    limit = ConnectionLimit(2)
    for ours, _ in pairs[:2]:
        limit.admit(ours)
    limit.heard(pairs[0][0])
    limit.admit(pairs[2][0])
    limit.heard(pairs[1][0])
    limit.admit(pairs[3][0])
    assert [is_open(pair) for pair in pairs] == [False, False, True, True]


def test_whoever_waits_until_nothing_is_answered_has_a_deadline() -> None:
    """Also when one fails."""
    limit = ConnectionLimit(1)
    limit.wait_until_idle(20)
    with ExitStack() as stack:
        stack.enter_context(limit.at_work())
        with pytest.raises(ZeroDivisionError), limit.at_work():
            raise ZeroDivisionError
        limit.wait_until_idle(0)
        waiting = Background(lambda: limit.wait_until_idle(20))
    waiting.result()
