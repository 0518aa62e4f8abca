"""What a struck watch brings, and what a struck read sees."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handloop.client.errors import TransportError
from handloop_explore.cluster import VirtualCluster
from handloop_explore.plan import VIEWS
from handloop_explore.views import BLIND_SECONDS, REWOUND_SECONDS, Views
from handloop_explore.virtual_threads import VirtualThreads
from support.builders.workloads import FOO

AGENT = "operator/1"
SEEN = {
    "stale": "ADDED a late",
    "silent": "DeadlineExceeded",
    "missed": "ERROR 410 late",
    "cut": "ConnectionBroken",
    "expired": "ERROR 410",
    "garbled": "broken",
    "twice": "ADDED a, ADDED a",
}


class Watcher:
    """A client with a watch of Foos, and what the watch has brought."""

    def __init__(self, threads: VirtualThreads, cluster: VirtualCluster, agent: str = AGENT) -> None:
        self.threads = threads
        self.path = cluster.path_of(FOO, named=False)
        self.headers = {"User-Agent": agent}
        self.transport = cluster.transport()
        self.seen: list[str] = []

    def watch(self) -> None:
        """Open one, which a thread reads."""
        version = json.loads(self.transport.request("GET", self.path).body)["metadata"]["resourceVersion"]
        query = {"watch": "1", "resourceVersion": version}
        try:
            stream = self.transport.stream("GET", self.path, query=query, headers=self.headers)
        except TransportError as error:
            self.seen.append(type(error).__name__)
            return
        if stream.status != 200:
            self.seen.append(str(stream.status))
        else:
            self.threads.spawn("reader", lambda: self._read(stream))

    def _read(self, stream: Any) -> None:
        began = self.threads.now
        try:
            lines = stream.read_block().splitlines()
        except TransportError as error:
            self.seen.append(type(error).__name__)
            return
        late = " late" if self.threads.now - began > BLIND_SECONDS / 2 else ""
        self.seen += [_words(line) + late for line in lines]

    def names(self) -> list[str]:
        """The names that a list shows."""
        items = json.loads(self.transport.request("GET", self.path, headers=self.headers).body)["items"]
        return [one["metadata"]["name"] for one in items]


def _words(line: bytes) -> str:
    try:
        event = json.loads(line)
    except ValueError:
        return "broken"
    return f"{event['type']} {event['object'].get('code') or event['object']['metadata']['name']}"


@pytest.mark.parametrize("what", SEEN)
@pytest.mark.parametrize("opening", [True, False])
def test_the_watches_of_a_process_are_struck_and_no_other(
    threads: VirtualThreads, cluster: VirtualCluster, what: str, opening: bool
) -> None:
    """Those that are open, or the one that is opened next."""
    mine, other, views = Watcher(threads, cluster), Watcher(threads, cluster, "b"), Views(cluster, AGENT)
    other.watch()
    if opening:
        views.strike_opening(what)
    mine.watch()
    threads.run_for(1)
    if not opening:
        views.strike(what)
    cluster.send("POST", mine.path, FOO)
    threads.run_for(100)
    assert ", ".join(mine.seen) == SEEN[what]
    assert other.seen == ["ADDED a"]


def test_every_view_is_tested() -> None:
    """Here and below."""
    assert {*SEEN, "rewound"} == set(VIEWS)


@pytest.mark.parametrize(("what", "seen"), [("lost", "ConnectionBroken"), ("410", "410"), ("503", "503")])
def test_an_opening_fails_once(
    threads: VirtualThreads, cluster: VirtualCluster, what: str, seen: str
) -> None:
    """The next one is answered."""
    watcher = Watcher(threads, cluster)
    Views(cluster, AGENT).strike_opening(what)
    watcher.watch()
    watcher.watch()
    cluster.send("POST", watcher.path, FOO)
    threads.run_for(1)
    assert watcher.seen == [seen, "ADDED a"]


@pytest.mark.parametrize("all_reads", [True, False])
def test_a_rewound_view_shows_what_was_before_the_last_write(
    threads: VirtualThreads, cluster: VirtualCluster, all_reads: bool
) -> None:
    """For a while, or in one read."""
    watcher, views = Watcher(threads, cluster), Views(cluster, AGENT)
    watcher.watch()
    cluster.send("POST", watcher.path, FOO)
    threads.run_for(1)
    (views.strike if all_reads else views.strike_opening)("rewound")
    seen = [watcher.names(), watcher.names()]
    assert seen == [[], [] if all_reads else ["a"]]
    threads.run_for(REWOUND_SECONDS)
    assert watcher.names() == ["a"]
