"""What a simulated container has printed: enough to read, none of it real."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from handloop.apis.time import parse_time
from handloop.sandbox.storage.stored import Object
from handloop.sandbox.wire.human import human_duration


def lines(pod: Object, container: str, *, now: float) -> list[str]:
    """The log of a container by name; empty while it has never run."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    status = next((entry for entry in statuses if entry["name"] == container), None)
    return [] if status is None else list(_story(pod, status, now))


def _story(pod: Object, status: dict[str, Any], now: float) -> Iterator[str]:
    running = status["state"].get("running")
    ended = status["state"].get("terminated") or (status.get("lastState") or {}).get("terminated")
    if not running and not ended:
        return
    yield f"sandbox: this is a simulated container of image {status['image']}; nothing is executed"
    yield f"sandbox: started {status['name']} in pod {pod['metadata']['name']}"
    if ended and not running:
        yield from _last_words(ended)
    if not running:
        return
    if status["restartCount"]:
        yield f"sandbox: restarted {status['restartCount']} times"
    if status["ready"]:
        yield "sandbox: ready"
    yield f"sandbox: running for {human_duration(now - parse_time(running['startedAt']))}"


def _last_words(ended: dict[str, Any]) -> Iterator[str]:
    if ended["exitCode"]:
        yield f"sandbox: error: {ended['reason']}"
    yield f"sandbox: exited with code {ended['exitCode']}"
