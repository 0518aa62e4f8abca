"""A whole run of an election on virtual time, with a lease in memory."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from prometheus_client import CollectorRegistry

from handloop.controller.runtime.election.candidacy import ElectionStatistics
from handloop.controller.runtime.election.config import LeaderElectionConfig
from handloop.controller.runtime.election.election_metrics import LeaderElectionMetrics
from handloop.controller.runtime.election.leader_election import LeaderCallbacks, LeaderElector
from handloop.controller.runtime.election.lease_lock import LeaseLock
from handloop.controller.runtime.events.fake_recorder import FakeRecorder
from handloop.workqueue.seams import Joinable, Seams, spawn_thread
from support.fake_clock import FakeClock
from support.lease_api import LeaseAPI
from support.threads import DEADLINE_SECONDS, Background

PATH: Final = "demo/foo"
BING: Final = {"holderIdentity": "bing", "leaseDurationSeconds": 15, "leaseTransitions": 0}


class ElectionRig:
    """
    One elector whose sleeps pass at once; before each of them `at_sleep` may act, with its number from 0.

    work is the guarded work: by default it waits for its stop. Time stands still until the work has begun, at
    started_at.
    """

    def __init__(self, **durations: Any) -> None:
        self.api = LeaseAPI()
        self.stop = threading.Event()
        self.recorder = FakeRecorder()
        self.registry = CollectorRegistry(auto_describe=True)
        self.calls: list[str] = []
        self.leaders: list[str] = []
        self.started_at = math.inf
        self.waits: list[ElectionStatistics] = []
        self.at_sleep: Callable[[int], None] = lambda _number: None
        self.work: Callable[[threading.Event], None] = wait_for_stop
        self._begun = threading.Event()
        self.clock = _Clock(self)
        lock = LeaseLock(
            self.api.client(), namespace="demo", name="foo", identity="baz", recorder=self.recorder
        )
        self.elector = LeaderElector(
            LeaderElectionConfig(lock, **durations),
            LeaderCallbacks(
                on_started_leading=self._lead,
                on_stopped_leading=lambda: self.calls.append("stopped"),
                on_new_leader=self.leaders.append,
                on_waiting=self.waits.append,
            ),
            seams=Seams(clock=self.clock, random=random.Random(7).random, spawn=self._spawn),
            metrics=LeaderElectionMetrics(self.registry),
        )

    def call(self, **callbacks: Any) -> None:
        """Let the elector call these instead."""
        self.elector._callbacks = replace(self.elector._callbacks, **callbacks)

    def run(self) -> None:
        """Run to the end."""
        Background(lambda: self.elector.run(self.stop)).result()

    def status(self) -> float | None:
        """leader_election_master_status."""
        return self.registry.get_sample_value("leader_election_master_status", {"name": "foo"})

    def _spawn(self, name: str, target: Callable[[], None]) -> Joinable:
        # elector thread: it renews, and so moves the clock, once spawn has returned
        thread = spawn_thread(name, target)
        assert self._begun.wait(DEADLINE_SECONDS)
        return thread

    def _lead(self, stop: threading.Event) -> None:
        self.started_at = self.clock.now()
        self.calls.append("started")
        self._begun.set()
        try:
            self.work(stop)
        finally:
            self.calls.append("work ended")


class _Clock(FakeClock):
    """Counts sleeps, and lets the rig act at each."""

    def __init__(self, rig: ElectionRig) -> None:
        super().__init__(start=1000.0, moves_itself=True)
        self._rig = rig

    def sleep(self, seconds: float, stop: threading.Event) -> bool:
        self._rig.at_sleep(len(self.slept))
        return super().sleep(seconds, stop)


def wait_for_stop(stop: threading.Event) -> None:
    """Guarded work that does nothing until it is told to stop."""
    assert stop.wait(20.0)


def stopping(rig: ElectionRig, after: int) -> Callable[[int], None]:
    """An at_sleep that stops the rig's run at that sleep."""

    def act(number: int) -> None:
        if number == after:
            rig.stop.set()

    return act
