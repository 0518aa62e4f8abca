"""The state of the running objects."""

from __future__ import annotations

import json
from typing import Any

from handloop.informers.keys import ObjectName
from handloop.testing.eventually import eventually
from handloop.walkthrough.live.parts import hold, release
from handloop.walkthrough.live.snapshot import snapshot

SECRET = "not-to-be-shown"


def available(seen: dict[str, Any]) -> list[int | None]:
    return [row["available"] for kind in seen["objects"] for row in kind["rows"]]


def test_before_there_are_controllers_it_is_empty() -> None:
    """The page may be opened while the program still checks the server."""
    assert snapshot(None, ())["ready"] is False


def test_it_shows_what_stands_in_the_parts(program: Any) -> None:
    """Reflector, store, indexes, listeners, workers, the last sync, and the Foos; of objects no data."""
    seen: dict[str, Any] = {}

    def settled() -> bool:
        seen.update(snapshot(program.parts, program.recorder.steps()))
        return bool(seen["results"]) and not any(
            listener["pending"] for row in seen["informers"] for listener in row["listeners"]
        )

    program.foo("a", 2, annotations={"note": SECRET})
    eventually(lambda: available(snapshot(program.parts, ())) == [0], "a status")
    eventually(settled, "a sync")
    foos = next(row for row in seen["informers"] if row["plural"] == "foos")
    assert (foos["kind"], foos["state"], foos["synced"], foos["fifo"]) == ("Foo", "WATCHING", True, 0)
    assert (foos["objects"], foos["relists"], foos["error"]) == (1, {}, "")
    assert foos["indexes"] == {"namespace": 1, "deploymentName": 1}
    assert int(foos["version"]) > 0
    assert [listener["pending"] for listener in foos["listeners"]] == [0]
    assert [worker["name"] for worker in seen["workers"]] == ["worker-0", "worker-1"]
    assert seen["results"][0]["key"] == "default/a"
    assert seen["results"][0]["outcome"] == "ok"
    assert seen["objects"] == [
        {"kind": "Foo", "count": 1, "rows": [{"key": "default/a", "desired": 2, "available": 0}]}
    ]
    assert seen["election"] is None
    assert SECRET not in json.dumps(seen)


def test_it_shows_the_four_places_of_a_queue(program: Any) -> None:
    """Queued, in processing, added again meanwhile, and waiting for its time with its failures."""
    parts, queue = program.parts, program.parts.queues()["foo"]
    hold(queue)
    queue.add(ObjectName("default", "queued"))
    queue.add_rate_limited(ObjectName("default", "failed"), at_least_seconds=60)
    row = snapshot(parts, ())["queues"][0]
    assert (row["name"], row["paused"], row["queued"]) == ("foo", True, ["default/queued"])
    assert row["counts"] == {"queued": 1, "dirty": 1, "processing": 0, "delayed": 1}
    (delayed,) = row["delayed"]
    assert (delayed["key"], delayed["failures"]) == ("default/failed", 1)
    assert 59 < delayed["seconds"] <= 60
    eventually(lambda: snapshot(parts, ())["queues"][0]["oldest"] >= 0.1, "a key that grows older")
    release(queue)
    eventually(lambda: snapshot(parts, ())["queues"][0]["oldest"] is None, "handed out and done")


def test_it_stays_small(program: Any) -> None:
    """Of a thousand keys fifty are listed, and all are counted."""
    queue = program.parts.queues()["foo"]
    hold(queue)
    queue.add_all(ObjectName("default", f"foo-{number}") for number in range(1000))
    row = snapshot(program.parts, ())["queues"][0]
    assert (row["counts"]["queued"], len(row["queued"])) == (1000, 50)
