from __future__ import annotations

from typing import Any, Literal

import pytest

from handloop_sandbox.faults.watch_output import WatchOutput
from support.servers.local_server import LocalServer

_MAPS = "/api/v1/namespaces/default/configmaps"


def _create(server: LocalServer, *names: str) -> None:
    for name in names:
        assert server.request("POST", _MAPS, {"metadata": {"name": name}}).status == 201


def _watch(server: LocalServer, query: str = "") -> WatchOutput:
    return server.watch(f"{_MAPS}?watch=1{query}")


def _names(server: LocalServer, watch: WatchOutput) -> list[str]:
    return [event["object"]["metadata"]["name"] for event in server.events(watch)]


def _due(server: LocalServer, watch: WatchOutput) -> bool:
    return watch.is_due(server.clock.now)


def test_without_faults_it_is_the_watcher(server: LocalServer) -> None:
    """Lines, end, and the next time something is due."""
    watch = _watch(server, "&timeoutSeconds=7")
    assert _names(server, watch) == []
    assert watch.next_wake() == server.clock.now + 7 == watch.watcher.next_wake()
    assert not _due(server, watch)
    _create(server, "a")
    assert _due(server, watch)
    assert _names(server, watch) == ["a"]
    server.clock.now += 7
    assert _names(server, watch) == []
    assert watch.ended
    assert not _due(server, watch)


@pytest.mark.parametrize(("how", "broken"), [("end", ""), ("cut", "cut"), ("reset", "reset")])
def test_a_watch_is_dropped(server: LocalServer, how: Literal["end", "cut", "reset"], broken: str) -> None:
    """Open ones at once, and the argument decides how the connection ends."""
    watch = _watch(server)
    server.events(watch)
    server.engine.faults.drop_watches(how)
    assert _due(server, watch)
    assert (_names(server, watch), watch.ended, watch.broken) == ([], True, broken)
    later = _watch(server)
    assert (_names(server, later), later.ended) == ([], True)


def test_a_watch_is_dropped_after_some_events(server: LocalServer) -> None:
    """Counted from its beginning; later bytes are lost."""
    fault = server.engine.faults.drop_watches(after_events=2, count=1)
    watch, other = _watch(server), _watch(server)
    _create(server, "a")
    assert (_names(server, watch), watch.ended) == (["a"], False)
    _create(server, "b", "c")
    assert (_names(server, watch), watch.ended) == (["b"], True)
    assert _names(server, other) == ["a", "b", "c"]
    assert fault.hits == 1


def test_a_watch_expires_in_the_stream(server: LocalServer) -> None:
    """The events before it, then the ERROR with 410, then the end."""
    watch = _watch(server)
    server.engine.faults.expire(after_events=1)
    _create(server, "a", "b")
    first, error = server.events(watch)
    assert first["object"]["metadata"]["name"] == "a"
    assert (error["type"], error["object"]["code"], error["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert watch.ended


def test_a_silent_watch_logs_nothing_and_does_not_end(server: LocalServer) -> None:
    """Not even its time ends it; cleared, it goes on where it was."""
    watch = _watch(server, "&timeoutSeconds=60&allowWatchBookmarks=true")
    silence = server.engine.faults.silence(after_events=1)
    _create(server, "a", "b")
    assert _names(server, watch) == ["a"]
    server.clock.now += 100
    assert (_names(server, watch), watch.ended, _due(server, watch)) == ([], False, False)
    assert server.engine.tick() is None
    silence.clear()
    assert _due(server, watch)
    assert [event["type"] for event in server.events(watch)] == ["ADDED", "BOOKMARK"]
    assert watch.ended


def test_a_silence_ends_with_its_time(server: LocalServer) -> None:
    """The engine wakes up when a fault is over, and the watch goes on."""
    watch = _watch(server)
    server.engine.faults.silence(seconds=10)
    _create(server, "a")
    assert _names(server, watch) == []
    assert server.engine.tick() == server.clock.now + 10
    server.clock.now += 10
    assert _names(server, watch) == ["a"]


def test_events_come_later(server: LocalServer) -> None:
    """Each by so many seconds; the end, too, waits for them."""
    watch = _watch(server, "&timeoutSeconds=8")
    server.events(watch)
    server.engine.faults.delay_watches(5)
    _create(server, "a")
    assert _names(server, watch) == []
    assert watch.next_wake() == server.clock.now + 5
    server.clock.now += 4
    assert not _due(server, watch)
    _create(server, "b")
    assert _names(server, watch) == []
    server.clock.now += 1
    assert _due(server, watch)
    assert _names(server, watch) == ["a"]
    server.clock.now += 3
    assert (_names(server, watch), watch.ended) == ([], False)
    server.clock.now += 1
    assert (_names(server, watch), watch.ended) == (["b"], True)


def test_a_delay_counts_from_the_change(server: LocalServer) -> None:
    """At any look: after a jump of the clock the event is due, and not only held from then on."""
    watch = _watch(server)
    server.events(watch)
    server.engine.faults.delay_watches(5)
    _create(server, "a")
    server.clock.now += 5
    assert _due(server, watch)
    assert _names(server, watch) == ["a"]


def test_events_are_held_until_cleared(server: LocalServer) -> None:
    """Without a delay they wait for the end of the fault, in order."""
    watch = _watch(server)
    held = server.engine.faults.delay_watches()
    _create(server, "a", "b")
    server.clock.now += 1000
    assert (_names(server, watch), _due(server, watch)) == ([], False)
    held.clear()
    assert _names(server, watch) == ["a", "b"]
    assert not watch.ended


@pytest.mark.parametrize(
    ("how", "expected"),
    [("repeat", ["a", "a", "b", "b", "c", "c"]), ("reverse", ["a", "c", "b"]), ("lose", ["a"])],
)
def test_events_are_distorted(server: LocalServer, how: Any, expected: list[str]) -> None:
    """Twice, the newest first, not at all; from the second one on when asked so."""
    watch = _watch(server)
    server.engine.faults.distort_watches(how, after_events=0 if how == "repeat" else 1)
    _create(server, "a", "b", "c")
    assert _names(server, watch) == expected


def test_a_burst_is_taken_whole(server: LocalServer) -> None:
    """More than a watch takes at a time: all of it is delayed by the same, or lost."""
    watch, deaf = _watch(server), _watch(server)
    server.engine.faults.distort_watches("lose", count=1)
    assert _names(server, deaf) == []
    server.engine.faults.delay_watches(5)
    names = [f"m{number:03d}" for number in range(300)]
    _create(server, *names)
    assert (_names(server, watch), _names(server, deaf)) == ([], [])
    server.clock.now += 5
    assert _names(server, watch) == names
    assert (_names(server, deaf), _due(server, deaf)) == ([], False)


def test_garbage_is_no_event(server: LocalServer) -> None:
    """A whole line that is not JSON."""
    watch = _watch(server)
    server.engine.faults.distort_watches("garble", count=1)
    _create(server, "a")
    (line,) = server.engine.take(watch)
    assert line.endswith(b"\n")
    with pytest.raises(ValueError, match="Expecting"):
        server.events(_raw(line))


def _raw(line: bytes) -> Any:
    class _Line:
        ended = False

        def take(self, now: float) -> list[bytes]:
            return [line]

    return _Line()


def test_a_lag_holds_open_watches_back(server: LocalServer) -> None:
    """They see the world move on, some changes later, and bookmarks do not run ahead."""
    watch = _watch(server, "&allowWatchBookmarks=true")
    server.events(watch)
    server.engine.faults.lag(1)
    _create(server, "a")
    assert (_names(server, watch), _due(server, watch)) == ([], False)
    _create(server, "b")
    assert _due(server, watch)
    assert _names(server, watch) == ["a"]
    server.clock.now += 10
    told = [int(event["object"]["metadata"]["resourceVersion"]) for event in server.events(watch)]
    assert all(version < server.engine.version() for version in told)


def test_faults_meet_in_one_stream(server: LocalServer) -> None:
    """Delayed and then dropped after one event."""
    watch = _watch(server)
    server.engine.faults.delay_watches(5)
    server.engine.faults.drop_watches("cut", after_events=1)
    _create(server, "a", "b")
    assert _names(server, watch) == []
    server.clock.now += 5
    assert (_names(server, watch), watch.ended, watch.broken) == (["a"], True, "cut")


def test_each_watch_is_hit_once(server: LocalServer) -> None:
    """The count is a number of watches, however often each is looked at; others are spared."""
    silence = server.engine.faults.silence(count=1)
    first, second = _watch(server), _watch(server)
    for name in ("a", "b"):
        _create(server, name)
        assert _names(server, first) == []
        assert _names(server, second) == [name]
    assert silence.hits == 1
    server.engine.faults.deny(count=1)
    assert _names(server, first) == []


def test_a_closed_watch_is_over(server: LocalServer) -> None:
    """close() ends the watcher, too."""
    watch = _watch(server)
    server.engine.close(watch)
    assert watch.ended
    assert watch.watcher.ended
    assert server.events(watch) == []
