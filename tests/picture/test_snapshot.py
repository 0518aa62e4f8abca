"""The state of the running objects."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from msgspec.structs import replace

from handloop.controller.foo.types import Foo
from handloop.controller.runtime.sharding.replica import Replica
from handloop.controller.runtime.sharding.shards import Shards
from handloop.informers.keys import ObjectName
from handloop.picture.parts import Parts, hold, release
from handloop.picture.snapshot import snapshot
from handloop.testing.eventually import eventually
from support.rigs.managed_sandbox import ManagedSandbox

SECRET = "not-to-be-shown"


def available(seen: dict[str, Any]) -> list[int | None]:
    return [row["available"] for kind in seen["objects"] for row in kind["rows"]]


def test_before_there_are_controllers_it_is_empty() -> None:
    """The page may be opened while the program still checks the server."""
    assert snapshot(None, list)["ready"] is False


def test_it_shows_what_stands_in_the_parts(program: Any) -> None:
    """Reflector, store, indexes, listeners, workers, the last sync, and the Foos; of objects no data."""
    seen: dict[str, Any] = {}

    def settled() -> bool:
        seen.update(snapshot(program.parts, program.recorder.steps))
        return bool(seen["results"]) and not any(
            listener["pending"] for row in seen["informers"] for listener in row["listeners"]
        )

    program.foo("a", 2, annotations={"note": SECRET})
    eventually(lambda: available(snapshot(program.parts, list)) == [0], "a status")
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
    assert (seen["election"], seen["shards"]) == (None, None)
    assert SECRET not in json.dumps(seen)


@pytest.mark.parametrize(
    ("changes", "good", "words"),
    [
        ({}, False, "joining the replicas"),
        ({"members": ("a_1", "b_2"), "held": (0, 2)}, True, "slots 0 2 of 4 with 0 0 objects, 2 replicas"),
        ({"members": ("a_1",)}, False, "slots none of 4, 1 replica"),
        ({"members": ("a_1",), "held": (0, 2), "unheld": (1, 3)}, False, "nobody has slots 1 3 of 4"),
    ],
)
def test_it_shows_who_has_which_slot(changes: dict[str, Any], good: bool, words: str) -> None:
    """With shards: the state as the coordinator has it, and a sign for the head of the page."""
    manager = ManagedSandbox(Foo).manager(shards=Shards(4, lease="default/x"))
    assert isinstance(manager.replica, Replica)
    coordinator = manager.replica.coordinator
    coordinator._statistics = replace(coordinator.statistics(), **changes)
    shown = snapshot(Parts(manager, {}), list)["shards"]
    assert shown["sign"] == [good, words]
    assert (shown["count"], shown["by"], shown["group"]) == (4, "namespace", "default/x")
    assert json.dumps(shown)


def test_it_shows_the_four_places_of_a_queue(program: Any) -> None:
    """Queued, in processing, added again meanwhile, and waiting for its time with its failures."""
    parts, queue = program.parts, program.parts.queues()["foo"]
    hold(queue)
    queue.add(ObjectName("default", "queued"))
    queue.add_rate_limited(ObjectName("default", "failed"), at_least_seconds=60)
    row = snapshot(parts, list)["queues"][0]
    assert (row["name"], row["paused"], row["queued"]) == ("foo", True, ["default/queued"])
    assert row["counts"] == {"queued": 1, "dirty": 1, "processing": 0, "delayed": 1}
    (delayed,) = row["delayed"]
    assert (delayed["key"], delayed["failures"]) == ("default/failed", 1)
    assert 59 < delayed["seconds"] <= 60
    eventually(lambda: snapshot(parts, list)["queues"][0]["oldest"] >= 0.1, "a key that grows older")
    release(queue)
    eventually(lambda: snapshot(parts, list)["queues"][0]["oldest"] is None, "handed out and done")


def test_it_stays_small(program: Any) -> None:
    """Of a thousand keys fifty are listed, and all are counted."""
    queue = program.parts.queues()["foo"]
    hold(queue)
    queue.add_all(ObjectName("default", f"foo-{number}") for number in range(1000))
    row = snapshot(program.parts, list)["queues"][0]
    assert (row["counts"]["queued"], len(row["queued"])) == (1000, 50)


FREE = (["", ""], [False, False])


def test_a_viewer_that_comes_during_a_sync_knows_that_the_worker_is_busy(
    program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not with what; and its key is not taken for one that nobody can get."""
    controller, name = program.parts.syncs()["foo"]
    go_on = threading.Event()
    monkeypatch.setattr(controller, name, lambda _: go_on.wait(30))
    queue = program.parts.queues()["foo"]
    queue.add(ObjectName("default", "a"))
    program.wait_for_steps(8)
    assert [key for key in program.workers()[0] if key] == ["default/a"]
    program.recorder.leave()
    program.recorder.join()
    keys, unknown, stuck = program.workers()
    assert (keys, sorted(unknown), stuck) == (["", ""], [False, True], [])
    go_on.set()
    eventually(lambda: program.workers() == (*FREE, []), "free workers")
