from __future__ import annotations

import threading

import pytest

from handloop.testing.managed_sandbox import ManagedSandbox
from handloop.testing.manager_thread import ManagerThread


class Waiting:
    """A runnable that ends with its manager."""

    name = "waiting"

    def run(self, stop: threading.Event) -> None:
        stop.wait()


class Failing:
    """A runnable that ends with an error."""

    name = "failing"

    def run(self, _stop: threading.Event) -> None:
        raise ValueError("no luck")


def test_a_manager_runs_until_it_is_ended() -> None:
    """Its thread is gone afterwards."""
    manager = ManagedSandbox().manager()
    manager.add(Waiting())
    running = ManagerThread(manager, "replica")
    assert running.has_ended()
    running.start()
    assert not running.has_ended()
    running.end()
    assert running.has_ended()
    assert running.error is None


def test_the_error_of_a_run_is_raised_to_who_waits() -> None:
    """And can be looked at before."""
    manager = ManagedSandbox().manager()
    manager.add(Failing())
    running = ManagerThread(manager, "replica")
    running.start()
    with pytest.raises(ValueError, match="no luck"):
        running.result()
    assert isinstance(running.error, ValueError)
