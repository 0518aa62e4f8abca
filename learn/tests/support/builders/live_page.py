"""What a live page tells, as small as it can be, and its controls without a controller behind them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from handloop_learn.live.control_error import ControlError
from handloop_learn.live.guard import LOOPBACK_NAMES
from handloop_learn.live.server import LiveServer
from handloop_learn.top.screen_state import ScreenState
from handloop_learn.top.stream import Message

CONNECTED = Message("connected", "http://127.0.0.1:8082")


def state(**changes: Any) -> dict[str, Any]:
    """A running Foo controller; one key waits after its second failure."""
    keys: dict[str, Any] = {name: [] for name in ("queued", "dirty", "processing", "stuck")}
    delayed = [{"key": "default/a", "seconds": 2.56, "failures": 2}]
    informer = {"name": "foos.samplecontroller.k8s.io", "plural": "foos", "kind": "Foo", "state": "WATCHING"}
    reflector = {
        "version": "42",
        "age": 0.4,
        "watches": 1,
        "relists": {"expired": 1},
        "error": "",
        "retryIn": None,
    }
    listeners = {"listeners": [{"name": "listener-foos-1", "pending": 3, "handled": 7}]}
    counts = {"queued": 0, "dirty": 0, "processing": 0, "delayed": 1}
    queue = {
        "name": "foo",
        "paused": False,
        "oldest": None,
        "counts": counts,
        **keys,
        "delayed": delayed,
        "stuck": [],
    }
    result = {
        "queue": "foo",
        "key": "default/a",
        "outcome": "failed",
        "reason": "Conflict: old",
        "seconds": 0.008,
        "retrySeconds": 2.56,
    }
    worker = {"name": "worker-0", "key": "default/b", "seconds": 0.5}
    rows = [{"key": "default/a", "desired": 3, "available": 2}]
    return {
        "ready": True,
        "synced": True,
        "election": None,
        "informers": [
            informer | reflector | listeners | {"fifo": 0, "objects": 1, "indexes": {"namespace": 1}}
        ],
        "queues": [queue],
        "workers": [worker, {"name": "worker-1", "key": "", "unknown": False}],
        "results": [result],
        "objects": [{"kind": "Foo", "count": 1, "rows": rows}],
        **changes,
    }


def snapshot(*, missed: int | None = 0, **changes: Any) -> Message:
    """A snapshot with a state."""
    return Message("snapshot", {"run": "r", "missed": missed, "state": state(**changes)})


def step(number: int, why: str, at: float = 1.0) -> dict[str, Any]:
    """One step."""
    told = {"seq": 1, "t": at, "step": number, "key": "default/a", "component": "foo", "why": why}
    return {**told, "thread": "worker-0"}


def screen(*messages: Message) -> ScreenState:
    """A screen state that has taken messages in."""
    made = ScreenState()
    for message in messages:
        made.take(message)
    return made


class PageControls:
    """Pauses when it is asked to, and refuses all else."""

    def offers(self) -> list[dict[str, Any]]:
        """What the page may show."""
        return [{"name": "pause", "title": "Pause the workers", "on": False, "blocked": ""}]

    def act(self, name: str, wanted: dict[str, Any]) -> str:
        """Carry one out."""
        if name != "pause":
            raise ControlError(f"no {name} of {wanted['key']!r} here")
        return "no worker gets a key"

    def undo_all(self) -> None:
        """Nothing was done."""


def new_server(*, port: int = 0, **options: Any) -> LiveServer:
    """A live page on loopback, with controls unless options differ."""
    return LiveServer("127.0.0.1", port, **{"names": LOOPBACK_NAMES, "controls": True, **options})


@contextmanager
def serving(server: LiveServer) -> Iterator[LiveServer]:
    """A live page for as long as the block lasts."""
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def page_with_controls(*, allowed: bool) -> Iterator[LiveServer]:
    """A page whose program has no controllers."""
    server = new_server(controls=allowed)
    if allowed:
        server.show(cast("Any", None), cast("Any", PageControls()))
    with serving(server):
        yield server
