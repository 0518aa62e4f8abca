"""A running informer on a fake source and a fake clock."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from structlog.testing import capture_logs

from handloop.apis.apps_v1 import Deployment
from handloop.informers.indexer import Indexers
from handloop.informers.informer_options import InformerOptions
from handloop.informers.processor import Registration
from handloop.informers.reflector import State
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.seams.seams import Seams
from handloop.testing.fake_clock import FakeClock
from support.doubles.fake_lister_watcher import FakeListerWatcher, FakeSource, expired
from support.doubles.recording_handler import Hook, RecordingHandler
from support.doubles.recording_metrics import RecordingMetricsProvider

_HARD_LIMIT_SECONDS = 30.0
_POLL_SECONDS = 0.002


class InformerRig:
    """
    The informer, its clock and its metrics; run starts it, close ends it and waits.

    Only the test moves the clock: the reflector's pauses last until then.
    """

    def __init__(
        self, source: FakeListerWatcher, *, indexers: Indexers[Deployment] | None = None, **options: Any
    ) -> None:
        self.source = source
        self.clock = FakeClock()
        self.metrics = RecordingMetricsProvider()
        self.stop = threading.Event()
        self.informer: SharedIndexInformer[Deployment] = SharedIndexInformer(
            source,
            Deployment,
            indexers=indexers,
            options=InformerOptions(metrics_provider=self.metrics, **options),
            seams=Seams(clock=self.clock, random=lambda: 0.0),
        )
        self._thread: threading.Thread | None = None

    def handle(
        self, hook: Hook | None = None, *, resync_seconds: float | None = None
    ) -> tuple[RecordingHandler, Registration[Deployment]]:
        """Add a recording handler."""
        handler = RecordingHandler(hook)
        return handler, self.informer.add_event_handler(handler, resync_seconds=resync_seconds)

    def run(self) -> None:
        """Start the informer in its thread."""
        self._thread = threading.Thread(
            target=self.informer.run, args=(self.stop,), name="informer-deployments"
        )
        self._thread.start()

    def run_synced(self) -> None:
        """Start the informer and wait until its store is filled."""
        self.run()
        self.until(self.informer.has_synced)

    def run_watching(self) -> None:
        """Start the informer and wait until its store is filled and its watch is open."""
        self.run_synced()
        self.until_watching()

    def expire(self, seconds: float = 30.0) -> None:
        """Cut the watch with a 410, and let the pause before the next list pass."""
        assert isinstance(self.source, FakeSource)
        with capture_logs():
            self.source.drop_watches(expired())
            self.until_pausing()
            self.clock.advance(seconds)

    def until(self, holds: Callable[[], bool]) -> None:
        """Block until something holds; raises after 30 real seconds."""
        probe = threading.Event()
        for _ in range(int(_HARD_LIMIT_SECONDS / _POLL_SECONDS)):
            if holds():
                return
            probe.wait(_POLL_SECONDS)
        raise AssertionError(f"waited 30 s: {self.informer.statistics()}")

    def until_watching(self) -> None:
        """Block until the reflector has an open watch."""
        self.until(self._watches)

    def until_pausing(self) -> None:
        """Block until the reflector sleeps on the clock before it tries again."""
        self.until(self._pauses)

    def pass_time(self, seconds: float) -> None:
        """Move the clock, then block until all who waited for a moment before that wait for a later one."""
        self.until(self._loop_waits)
        self.clock.advance(seconds)
        self.until(self._loop_waits)

    def close(self) -> None:
        """Stop the informer and wait for its end."""
        self.informer.stop()
        self.stop.set()
        if self._thread is not None:
            self._thread.join(_HARD_LIMIT_SECONDS)
            assert not self._thread.is_alive()

    def _loop_waits(self) -> bool:
        deadlines = self.clock.deadlines()
        return bool(deadlines) and deadlines[0] > self.clock.now()

    def _pauses(self) -> bool:
        reflector = self.informer.statistics().reflector
        return reflector is not None and reflector.retry_at in self.clock.deadlines()

    def _watches(self) -> bool:
        reflector = self.informer.statistics().reflector
        return reflector is not None and reflector.state is State.WATCHING
