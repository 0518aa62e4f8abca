"""A reflector on scripted answers and a clock of its own: one thread, nothing waits."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any

from structlog.testing import capture_logs

from handloop.apis.apps_v1 import Deployment
from handloop.client.decoding.watch_stream import EventType, WatchEvent
from handloop.client.options import ListOptions
from handloop.client.rest_client import Reachability
from handloop.informers.delta_fifo import DeltaType
from handloop.informers.event_intake import EventIntake
from handloop.informers.history_guard import HistoryGuard
from handloop.informers.keys import DeletedFinalStateUnknown
from handloop.informers.outage import Backoff, Outage, RetryPause
from handloop.informers.quarantine import Quarantine
from handloop.informers.reflector import Reflector
from handloop.informers.restriction import Whole
from handloop.seams.seams import Seams
from handloop.testing.fake_clock import FakeClock
from support.doubles.fake_lister_watcher import FakeListerWatcher, FakeWatch, expired
from support.doubles.recording_metrics import RecordingMetricsProvider

NAME = "deployments.apps"


class CountingBackoff:
    """Always the same delay; counts the calls, and how often it starts over."""

    def __init__(self, seconds: float = 1.0) -> None:
        self.calls = 0
        self.resets = 0
        self._seconds = seconds

    def next(self) -> float:
        self.calls += 1
        return self._seconds

    def reset(self) -> None:
        self.resets += 1


class ReflectorRig:
    """Everything a reflector needs, and the reflector."""

    def __init__(
        self,
        source: FakeListerWatcher | None = None,
        *,
        random: Callable[[], float] = lambda: 0.0,
        clock: FakeClock | None = None,
        backoff: Backoff | None = None,
        guard: HistoryGuard[Deployment] | None = None,
        reachability: Reachability | None = None,
        quiet: bool = False,
        **options: Any,
    ) -> None:
        self.source = source or FakeListerWatcher()
        self.clock = clock or FakeClock(moves_itself=True)
        self.store = RecordingStore()
        self.backoff = CountingBackoff()
        self.metrics = RecordingMetricsProvider()
        metrics = self.metrics.for_informer(NAME)
        everything = Whole(self.source)
        self.reflector: Reflector[Deployment] = Reflector(
            everything,
            Deployment,
            EventIntake(
                self.store,
                guard=guard or HistoryGuard(),
                quarantine=Quarantine(kind="Deployment", gauge=metrics.quarantined),
                restriction=everything,
                name=NAME,
            ),
            Outage(
                NAME,
                Deployment.resource,
                pause=RetryPause(
                    backoff or self.backoff,
                    reachability=reachability,
                    seams=Seams(clock=self.clock, random=random),
                ),
                quiet=quiet,
                clock=self.clock,
            ),
            metrics=metrics,
            seams=Seams(clock=self.clock, random=random),
            **options,
        )

    def round(self) -> list[MutableMapping[str, Any]]:
        """One list_and_watch. Returns: the lines that it logged."""
        with capture_logs() as logs:
            self.reflector.list_and_watch()
        return logs

    def run(self) -> list[MutableMapping[str, Any]]:
        """All rounds, until it is stopped. Returns: the lines that they logged."""
        with capture_logs() as logs:
            self.reflector.run()
        return logs

    def watch(self, *script: list[WatchEvent[Deployment]] | Exception | None) -> FakeWatch[Deployment]:
        """Script the next watch."""
        stream: FakeWatch[Deployment] = FakeWatch(*script)
        self.source.watches.append(stream)
        return stream

    def last_watch(self, *script: list[WatchEvent[Deployment]] | Exception | None) -> FakeWatch[Deployment]:
        """Script the next watch, which stops the reflector at its end."""
        return self.watch(*script).then(self.reflector.stop)

    def last_round(
        self, *script: list[WatchEvent[Deployment]] | Exception | None
    ) -> list[MutableMapping[str, Any]]:
        """One list_and_watch whose next watch is the last. Returns: the lines that it logged."""
        self.last_watch(*script)
        return self.round()

    def last_run(self) -> list[MutableMapping[str, Any]]:
        """All rounds, of which the next scripted watch is the last. Returns: the lines that they logged."""
        self.last_watch()
        return self.run()

    def expiring_watch(self, *script: list[WatchEvent[Deployment]]) -> FakeWatch[Deployment]:
        """Script the next watch, which ends the round with a 410."""
        return self.watch(*script).send(WatchEvent(EventType.ERROR, expired()))

    def asked_versions(self) -> list[str]:
        """The resource versions of all lists."""
        return [options.resource_version or "" for options in self.source.list_options]

    def watched_versions(self) -> list[str]:
        """The resource versions of all watches."""
        return [options.resource_version or "" for options in self.source.watch_options]

    def rv(self) -> str:
        """The reflector's last sync resource version."""
        return self.reflector.last_sync_resource_version()


def is_streaming(options: ListOptions) -> bool:
    """Whether a watch asked for a streaming list."""
    return options.send_initial_events


Entry = tuple[DeltaType, Deployment | DeletedFinalStateUnknown[Deployment]]


class RecordingStore:
    """
    Implements handloop.informers.event_intake.ReflectorStore as a dict by name.

    `replaces` has the resource version of every list, `refuse` makes entries fail, `fail_replace` makes lists
    fail, `on_change` is called after every change.
    """

    def __init__(self) -> None:
        self.objects: dict[str, Deployment] = {}
        self.replaces: list[str] = []
        self.refuse: Callable[[Entry], bool] = lambda _: False
        self.fail_replace: Exception | None = None
        self.on_change: Callable[[], None] = lambda: None

    def enqueue_batch(self, entries: list[Entry]) -> None:
        errors = []
        for entry in entries:
            if self.refuse(entry):
                errors.append(ValueError(f"refused {entry[0]}"))
            else:
                self._apply(entry)
        self.on_change()
        if errors:
            raise ExceptionGroup("some were refused", errors)

    def replace(self, objects: list[Deployment], resource_version: str) -> None:
        if self.fail_replace is not None:
            raise self.fail_replace
        self.objects = {obj.metadata.name: obj for obj in objects}
        self.replaces.append(resource_version)
        self.on_change()

    def versions(self) -> dict[str, str]:
        """Name -> resource version."""
        return {name: obj.metadata.resource_version for name, obj in sorted(self.objects.items())}

    def _apply(self, entry: Entry) -> None:
        delta_type, obj = entry
        if isinstance(obj, DeletedFinalStateUnknown):
            self.objects.pop(obj.key.rpartition("/")[2], None)
        elif delta_type is DeltaType.DELETED:
            self.objects.pop(obj.metadata.name, None)
        else:
            self.objects[obj.metadata.name] = obj
