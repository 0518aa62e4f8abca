"""A reconcile of a plan may act in the cluster alone."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from handloop.controller.runtime.planning.attempt import (
    ATTEMPT,
    OUTSIDE,
    Attempt,
    PlanEnds,
    guard_against_acts,
)


@contextmanager
def reconciling(attempt: Attempt) -> Iterator[Attempt]:
    """As the thread of a plan's worker does."""
    guard_against_acts()
    token = ATTEMPT.set(attempt)
    try:
        yield attempt
    finally:
        ATTEMPT.reset(token)


def connect() -> None:
    """Connect to a port on which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with socket.socket() as sock:
            sock.connect(free.getsockname())


def start() -> None:
    """Start a program."""
    subprocess.run([sys.executable, "-c", ""], check=True)


@pytest.mark.parametrize("act", [connect, start])
def test_an_act_outside_of_the_cluster_ends_the_plan_of_a_name(act: Callable[[], None]) -> None:
    """Even if the author's code catches every Exception, and the first reason stays."""
    attempt = Attempt("Site default/a")
    # an author catches exceptions
    with reconciling(attempt), pytest.raises(PlanEnds, match="acts outside"), suppress(Exception):
        act()
    assert attempt.ended[0] == OUTSIDE
    attempt.end("more", "later")
    assert attempt.ended[0] == OUTSIDE


def test_the_api_server_may_be_asked() -> None:
    """It may take a connection, or a program that logs in; other threads are not looked at."""
    with reconciling(Attempt("Site default/a")) as attempt, attempt.asking():
        start()
    start()


def test_an_author_or_a_user_may_allow_it() -> None:
    """By an option, or --with-outside."""
    with reconciling(Attempt("Site default/a", acts_outside=True)), pytest.raises(ConnectionRefusedError):
        connect()
