"""
One handler, its buffer, its thread; and the set of them.

Upstream's tracker of the first list is the listener's count of initial adds here.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs

from handloop.apis.apps_v1 import Deployment
from handloop.informers.keys import DeletedFinalStateUnknown
from handloop.informers.processor import (
    AddNotification,
    DeleteNotification,
    Notification,
    ProcessorListener,
    Registration,
    ResyncPeriods,
    SharedProcessor,
    UpdateNotification,
)
from handloop.seams.seams import Seams
from handloop.seams.threads import Joinable, spawn_thread
from handloop.testing.eventually import eventually as until
from handloop.testing.fake_clock import FakeClock
from support.builders.deployments import deployment
from support.doubles.recording_handler import Gate, Hook, RecordingHandler
from support.doubles.recording_metrics import Instrument
from support.doubles.unspeakable import UNSPEAKABLE


def add(name: str, *, initial: bool = False) -> Notification[Deployment]:
    return AddNotification(deployment(name), initial)


def fail(_line: str) -> None:
    raise RuntimeError("test panic")


def adds(count: int, *, initial: bool = False) -> list[Notification[Deployment]]:
    return [add(f"d{number}", initial=initial) for number in range(count)]


class Rig:
    """A processor on a fake clock; everything is stopped at the end of the test."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.panics = Instrument()
        self.spawned: list[str] = []
        self.processor: SharedProcessor[Deployment] = SharedProcessor(
            seams=Seams(clock=self.clock, spawn=self._spawn)
        )
        self.informer_synced = True

    def listen(
        self, hook: Hook | None = None, *, resync: float = 0
    ) -> tuple[RecordingHandler, ProcessorListener[Deployment]]:
        """Add a listener with a recording handler."""
        handler = RecordingHandler(hook)
        listener = ProcessorListener(
            handler,
            name=f"listener-{len(self.processor.listeners())}",
            requested_resync_seconds=resync,
            resync_seconds=resync,
            informer_has_synced=lambda: self.informer_synced,
            panics=self.panics,
            clock=self.clock,
        )
        self.processor.add_listener(listener)
        return handler, listener

    def distribute(self, *notifications: Notification[Deployment], initial: int = 0) -> None:
        """Distribute a batch without sync notifications."""
        self.processor.distribute(notifications, notifications, initial=initial)

    def _spawn(self, name: str, target: object) -> Joinable:
        self.spawned.append(name)
        return spawn_thread(name, target)  # type: ignore[arg-type] # the tests' own signature is wider


@pytest.fixture
def rig() -> Iterator[Rig]:
    made = Rig()
    yield made
    made.processor.stop()


def test_slow_handler_delays_neither_the_producer_nor_the_others(rig: Rig) -> None:
    """A blocked handler's buffer grows; the other gets everything, and so does it later."""
    gate = Gate()
    slow, slow_listener = rig.listen(gate)
    fast, _ = rig.listen()
    rig.processor.start()
    for number in range(1000):
        rig.distribute(add(f"d{number}"))
    wanted = [f"add d{number} 1 late" for number in range(1000)]
    assert fast.wait_for(1000) == wanted
    gate.wait()
    assert slow_listener.statistics().pending == 1000
    gate.open()
    assert slow.wait_for(1000) == wanted


def test_a_call_blocks_from_the_first_look_that_finds_it_under_way(rig: Rig) -> None:
    """Not from the start of the machine, nor from a look before it."""
    gate = Gate()
    recorded, listener = rig.listen(gate)
    rig.clock.advance(1000)
    rig.processor.start()
    rig.distribute(add("a"))
    gate.wait()
    assert listener.statistics().blocked_seconds == 0
    rig.clock.advance(30)
    assert listener.statistics().blocked_seconds == 30
    gate.open()
    recorded.wait_for(1)
    until(lambda: listener.statistics().pending == 0, "idle")
    rig.clock.advance(1000)
    assert listener.statistics().blocked_seconds == 0


def test_handler_is_called_according_to_the_notification(rig: Rig) -> None:
    """Adds, updates, deletes and tombstones reach their functions, in the order of distribution."""
    handler, _ = rig.listen()
    rig.distribute(
        add("a", initial=True),
        UpdateNotification(deployment("a", 1), deployment("a", 2)),
        DeleteNotification(deployment("a", 3)),
        DeleteNotification[Deployment](DeletedFinalStateUnknown("default/b", None)),
        initial=1,
    )
    rig.processor.start()
    assert handler.wait_for(4) == [
        "add a 1 initial",
        "update a 1 2",
        "delete a 3",
        "delete default/b gone",
    ]


def test_what_was_distributed_before_the_start_is_kept(rig: Rig) -> None:
    """
    Threads may start a second after the first events; nothing is lost, nothing blocks.

    The due listeners are chosen while no other thread runs, and they alone get the sync notification.
    """
    listened = [rig.listen(resync=period) for period in (0, 1, 2)]
    rig.distribute(*adds(3))
    rig.clock.advance(1)
    assert rig.processor.should_resync()
    sync = UpdateNotification(deployment("d0"), deployment("d0"))
    rig.processor.distribute([sync, add("d3")], [add("d3")])
    assert [handler.seen() for handler, _ in listened] == [[]] * 3
    assert [listener.statistics().pending for _, listener in listened] == [4, 5, 4]
    rig.processor.start()
    wanted = [f"add d{number} 1 late" for number in range(4)]
    assert listened[0][0].wait_for(4) == listened[2][0].wait_for(4) == wanted
    assert listened[1][0].wait_for(5) == [*wanted[:3], "update d0 1 1", *wanted[3:]]


def test_handler_that_raises_is_counted_and_goes_on_at_once(rig: Rig) -> None:
    """5 events, each raises: 5 panics, and the clock has not moved when the last one has run."""
    calls = threading.Semaphore(0)

    def noted(line: str) -> None:
        calls.release()
        fail(line)

    _, first = rig.listen(noted)
    _, second = rig.listen(noted)
    rig.processor.start()
    with capture_logs() as logs:
        rig.distribute(*adds(5))
        for _ in range(10):
            assert calls.acquire(timeout=30)
        until(lambda: first.statistics().handled == second.statistics().handled == 5, "the last calls")
    assert (first.statistics().panics, second.statistics().panics) == (5, 5)
    assert rig.panics.value == 10
    assert {entry["event"] for entry in logs} == {"Handler failed"}
    assert logs[0]["handler"] == "support.doubles.recording_handler.RecordingHandler"
    assert logs[0]["key"] == "default/d0"
    assert "test panic" in logs[0]["err"]


@pytest.mark.parametrize(
    "error",
    [SystemExit(1), KeyboardInterrupt(), RecursionError(), MemoryError(), *UNSPEAKABLE],
    ids=lambda error: type(error).__name__,
)
def test_no_exception_ends_a_listener(rig: Rig, error: BaseException) -> None:
    """Whatever a handler raises, the listener's thread lives on."""

    def fail_once(line: str) -> None:
        if line.startswith("add a "):
            raise error

    handler, _ = rig.listen(fail_once)
    rig.processor.start()
    with capture_logs():
        rig.distribute(add("a"), add("b"))
        assert handler.wait_for(1) == ["add b 1 late"]


def test_failed_tombstone_and_update_are_logged_by_key(rig: Rig) -> None:
    """The log line names the object for every type of notification."""
    _, listener = rig.listen(fail)
    rig.processor.start()
    with capture_logs() as logs:
        rig.distribute(DeleteNotification[Deployment](DeletedFinalStateUnknown("default/gone", None)))
        rig.distribute(UpdateNotification(deployment("a"), deployment("a", 2)))
        until(lambda: listener.statistics().handled == 2, "the two calls")
        rig.processor.stop()
    assert [(entry["key"], entry["event"]) for entry in logs] == [
        ("default/gone", "Handler failed"),
        ("default/a", "Handler failed"),
    ]
    assert [entry["notification"] for entry in logs] == ["delete", "update"]
    assert listener.statistics().handled == 2


def test_initial_adds_count_before_later_events_of_the_same_batch(rig: Rig) -> None:
    """A blocked later event does not keep the registration from being synced."""
    gate = Gate()
    handler, listener = rig.listen(lambda line: gate(line) if "update" in line else None)
    update = UpdateNotification(deployment("x", 1), deployment("x", 2))
    rig.distribute(*adds(2, initial=True), add("c"), update, initial=2)
    rig.processor.start()
    gate.wait()
    assert listener.has_synced()
    gate.open()
    handler.wait_for(4)


def test_an_initial_add_that_failed_was_delivered(rig: Rig) -> None:
    """One object that its handler cannot take keeps no registration, and nobody else, waiting."""
    handler, listener = rig.listen(lambda line: fail(line) if "d0" in line else None)
    rig.processor.start()
    with capture_logs():
        rig.distribute(*adds(3, initial=True), initial=3)
        handler.wait_for(2)
        rig.distribute(add("later"))
        handler.wait_for(3)
    assert listener.has_synced()
    assert listener.statistics().synced


def test_stop_discards_what_is_buffered_and_waits_for_the_running_call(rig: Rig) -> None:
    """Stop returns when the call in progress has; nothing after it is delivered."""
    gate = Gate()
    handler, listener = rig.listen(gate)
    rig.processor.start()
    rig.distribute(*adds(5))
    gate.wait()
    rig.distribute(*adds(5))
    stopper = threading.Thread(target=rig.processor.stop)
    stopper.start()
    until(listener._stop.is_set, "stopping")
    assert stopper.is_alive()
    gate.open()
    stopper.join(30)
    assert handler.seen() == ["add d0 1 late"]
    assert listener.statistics().pending == 0


def test_removing_twice_or_before_the_start_is_harmless(rig: Rig) -> None:
    """There is no thread to speak of, and no error."""
    _, listener = rig.listen()
    rig.processor.remove_listener(listener)
    rig.processor.remove_listener(listener)
    listener.join()
    rig.processor.start()
    assert rig.spawned == []


def test_listener_added_to_a_running_processor_runs_at_once(rig: Rig) -> None:
    """A late listener gets the notifications from then on."""
    rig.processor.start()
    late, listener = rig.listen()
    rig.distribute(add("a"))
    late.wait_for(1)
    assert rig.spawned == ["listener-0"]
    assert not listener.is_current_thread()


def test_a_listener_without_a_thread_is_not_added() -> None:
    """The caller gets the error, and no handle to remove it with: its buffer would grow for ever."""

    def spawn(_name: str, _target: object) -> Joinable:
        raise RuntimeError("can't start new thread")

    rig = Rig()
    rig.processor = SharedProcessor(seams=Seams(clock=rig.clock, spawn=spawn))
    rig.processor.start()
    with pytest.raises(RuntimeError):
        rig.listen()
    assert rig.processor.listeners() == []


def test_listener_that_has_ended_is_no_thread(rig: Rig) -> None:
    """The number of its thread may be another's by now, which must not be taken for its handler."""
    _, listener = rig.listen()
    listener.stop()
    listener.run()
    assert not listener.is_current_thread()


def test_sync_notifications_go_to_syncing_listeners_only(rig: Rig) -> None:
    """New listeners are syncing; after the first check only those that are due."""
    due, _ = rig.listen(resync=2)
    never, _ = rig.listen()
    rig.processor.start()
    sync = UpdateNotification(deployment("a"), deployment("a"))
    rig.processor.distribute([sync], [])
    due.wait_for(1)
    never.wait_for(1)
    rig.clock.advance(2)
    assert rig.processor.should_resync()
    rig.processor.distribute([sync, add("b")], [add("b")])
    assert due.wait_for(3)[1:] == ["update a 1 1", "add b 1 late"]
    assert never.wait_for(2)[1:] == ["add b 1 late"]
    assert not rig.processor.should_resync()
    rig.processor.distribute([sync, add("c")], [add("c")])
    assert due.wait_for(4)[3:] == ["add c 1 late"]


def test_resyncs_are_due_period_after_period(rig: Rig) -> None:
    """Checked every second, periods 0, 2 and 3 are due at 2, 3, 4, 6 and never."""
    rig.listen(resync=0)
    rig.listen(resync=2)
    rig.listen(resync=3)
    due_at = []
    for second in range(1, 7):
        rig.clock.advance(1)
        if rig.processor.should_resync():
            due_at.append(second)
    assert due_at == [2, 3, 4, 6]


def test_changed_check_period_reaches_every_listener(rig: Rig) -> None:
    """The effective periods are computed anew from the requested ones."""
    _, first = rig.listen(resync=0)
    _, second = rig.listen(resync=60)
    rig.processor.resync_check_period_changed(lambda requested: requested * 2)
    assert (first.resync_seconds, second.resync_seconds) == (0, 120)


# -- synced


@pytest.mark.parametrize("synced", [False, True])
def test_listener_without_initial_adds_is_synced_with_its_informer(rig: Rig, synced: bool) -> None:
    """Its registration agrees."""
    _, listener = rig.listen()
    rig.informer_synced = synced
    assert listener.has_synced() is synced
    assert Registration(listener).has_synced() is synced


def test_every_initial_add_must_return_from_the_handler(rig: Rig) -> None:
    """As many as were handed over, whether the handler is slow or has not begun."""
    gate = Gate()
    recorder, listener = rig.listen(gate)
    rig.distribute(add("a", initial=True), add("b", initial=True), initial=2)
    assert not listener.has_synced()
    rig.processor.start()
    gate.wait()
    assert not listener.has_synced()
    gate.open()
    rig.distribute(add("later"))
    recorder.wait_for(3)
    assert listener.has_synced()


def test_informer_is_asked_before_the_count(rig: Rig) -> None:
    """An initial add that is handed over while the informer is asked counts."""
    _, listener = rig.listen()

    def ask() -> bool:
        listener.add([add("a", initial=True)], initial=1)
        return True

    listener._informer_has_synced = ask
    assert not listener.has_synced()


# -- resync periods


_HOUR = 3600.0


def test_short_periods_shorten_the_check_period_before_the_start() -> None:
    """Check 12 h; adding 0, 1 min, 55 s, 5 s makes it 12 h, 1 min, 55 s, 5 s."""
    periods = ResyncPeriods(12 * _HOUR)
    checks, admitted = [], []
    for requested in (0, 60, 55, 5):
        admitted.append(periods.admit(requested, started=False))
        checks.append(periods.check_seconds)
    assert checks == [12 * _HOUR, 60, 55, 5]
    assert [periods.effective(one) for one in admitted] == [0, 60, 55, 5]


@pytest.mark.parametrize(
    ("check", "requested", "started", "effective", "warns"),
    [
        (1, 0.5, False, 1, True),
        (30, 5, True, 30, True),
        (30, 45, True, 45, False),
        (0, 60, True, 0, True),
        (30, None, False, 30, False),
        (30, 0, False, 0, False),
    ],
    ids=["under a second", "short after the start", "long", "no resyncs here", "none asked for", "never"],
)
def test_effective_period(
    check: float, requested: float | None, started: bool, effective: float, warns: bool
) -> None:
    """At least a second, and that of a running informer, whose check stays; what is raised gets a warning."""
    periods = ResyncPeriods(check)
    with capture_logs() as logs:
        assert periods.effective(periods.admit(requested, started=started)) == effective
    assert [entry["log_level"] for entry in logs] == ["warning"] * warns
    assert periods.check_seconds == check


@pytest.mark.parametrize("requested", [None, 30.0], ids=["none asked for", "a period"])
def test_a_negative_default_means_never(requested: float | None) -> None:
    """As a handler's does. The informer's loop would not wait between two checks."""
    periods = ResyncPeriods(-1)
    assert periods.effective(periods.admit(requested, started=False)) == 0
    assert periods.check_seconds == 0
