"""Chapter 15: work and memory grow with the cluster, and can be divided among workers and processes."""

from __future__ import annotations

import gc
import threading
import time
import tracemalloc
from collections import Counter
from typing import Any, Final, NamedTuple

from handloop.apis.meta import Kind
from handloop.informers.factory import SharedInformerFactory
from handloop.kinds.core_v1 import ConfigMap
from handloop.workqueue.queue import Queue, ShutDown
from handloop_learn.prediction import Words
from handloop_learn.screen import Screen
from handloop_learn.stage import Stage, started

SYNC_SECONDS: Final = 0.005
KEYS: Final = 120
CROWDS: Final = (1, 4, 12)
OBJECTS: Final = 300
SHARDS: Final = 3
CONFIG_MAPS: Final = "/api/v1/namespaces/default/configmaps"
_NOT_THE_SERVER: Final = tracemalloc.Filter(inclusive=False, filename_pattern="*/handloop_sandbox/*")
RECAP: Final = (
    "More workers help if there are more keys than workers, because only one worker syncs a key at a time.",
    "A cache contains all watched objects. A selector reduces their number, and a view their size.",
    "Shards divide the keys by a label. While an object changes shards, two processes may work on it.",
)


class ConfigMapNames(Kind, group="", version="v1", kind="ConfigMap", plural="configmaps"):
    """A view of ConfigMaps: only their metadata."""


class Work(NamedTuple):
    """How long the workers took, their number of syncs, and the most workers that synced one key at once."""

    seconds: float
    syncs: int
    most_on_one_key: int


class End(NamedTuple):
    """
    The chapter's results.

    work = the work of some workers, by their number; hot = their work on a single key; kilobytes = the size
    of each cache; shards = the number of objects in each shard; moved = the event that each of two shards
    receives when an object moves between them.
    """

    work: dict[int, Work]
    hot: Work
    kilobytes: dict[str, float]
    shards: list[int]
    moved: list[str]


def chapter(screen: Screen) -> End:
    """Run the chapter."""
    screen.tell(
        f"{KEYS} keys are queued, and each sync waits {SYNC_SECONDS * 1000:g} ms for the server. Python "
        "threads suit this work, because a waiting thread does not block the others."
    )
    work = {workers: _work(workers, [f"foo-{number}" for number in range(KEYS)]) for workers in CROWDS}
    rows = [
        (workers, f"{done.seconds:.2f}", round(done.syncs / done.seconds)) for workers, done in work.items()
    ]
    screen.table(("workers", "seconds", "syncs a second"), rows)
    screen.ask(f"With {CROWDS[-1]} workers and {KEYS} changes to one Foo, how many workers sync it at once?")
    hot = _work(CROWDS[-1], ["hot"] * KEYS, pause_seconds=SYNC_SECONDS / 4)
    screen.show(syncs=hot.syncs, workers_on_it_at_once=hot.most_on_one_key)
    screen.reveal(
        f"{hot.most_on_one_key}. The Foo's changes merge into {hot.syncs} syncs, and the other workers stay "
        "free for other keys. If all syncs are slow because one server is slow, more workers only make that "
        "server's queue longer.",
        hot.most_on_one_key,
    )
    with Stage(lifelike=False) as stage:
        for number in range(OBJECTS):
            stage.send("POST", CONFIG_MAPS, _config_map(number))
        kilobytes = _caches(screen, stage)
        shards, moved = _shards(screen, stage)
    return End(work, hot, kilobytes, shards, moved)


def _work(workers: int, adds: list[str], *, pause_seconds: float = 0.0) -> Work:
    """Add keys, with a pause after each, and let workers sync them. Blocks: until all keys are synced."""
    queue: Queue[str] = Queue()
    lock, busy, most, syncs = threading.Lock(), Counter[str](), Counter[str](), Counter[str]()

    def work() -> None:
        while True:
            try:
                key = queue.get()
            except ShutDown:
                return
            with lock:
                busy[key] += 1
                syncs[key] += 1
                most[key] = max(most[key], busy[key])
            time.sleep(SYNC_SECONDS)
            with lock:
                busy[key] -= 1
            queue.done(key)

    threads = [threading.Thread(target=work, name=f"worker-{number}") for number in range(workers)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for key in adds:
        queue.add(key)
        time.sleep(pause_seconds)
    queue.shut_down()
    for thread in threads:
        thread.join()
    return Work(time.monotonic() - began, syncs.total(), max(most.values()))


def _config_map(number: int) -> dict[str, Any]:
    labels = {"shard": str(number % SHARDS)}
    return {"metadata": {"name": f"app-{number}", "labels": labels}, "data": {"text": f"{number:05}" * 400}}


def _caches(screen: Screen, stage: Stage) -> dict[str, float]:
    """Fill three caches of the same ConfigMaps. Returns: the kB that each uses."""
    screen.tell(
        f"Next, memory. Three caches are filled from {OBJECTS} ConfigMaps of 2 kB each. Python's allocator "
        "reports the caches' sizes, without the memory of the sandbox, which runs in this process:"
    )
    # the first informer also allocates what all informers share
    _, empty = (_cached(stage, ConfigMap, "shard=none") for _ in range(2))
    kilobytes = {
        "all, whole": _cached(stage, ConfigMap) - empty,
        "all, metadata only": _cached(stage, ConfigMapNames) - empty,
        f"one shard of {SHARDS}, whole": _cached(stage, ConfigMap, "shard=0") - empty,
    }
    screen.table(("a cache of", "kB"), [(what, round(size)) for what, size in kilobytes.items()])
    screen.tell("The server applies the selector, so objects that do not match are neither sent nor cached.")
    return kilobytes


def _cached(stage: Stage, kind: type[Kind], labels: str = "") -> float:
    """Return the kB that a running informer and its cache use, without the server's memory."""
    factory = SharedInformerFactory(stage.client)
    factory.informer_for(kind, labels=labels)
    gc.collect()
    tracemalloc.start()
    try:
        with started(factory):
            gc.collect()
            traces = tracemalloc.take_snapshot().filter_traces([_NOT_THE_SERVER]).traces
            return sum(trace.size for trace in traces) / 1000
    finally:
        tracemalloc.stop()


def _shards(screen: Screen, stage: Stage) -> tuple[list[int], list[str]]:
    """
    Divide objects by a label, and move one. Returns: the size of each shard; the event that each of the
    two shards receives.
    """
    lists = [stage.send("GET", f"{CONFIG_MAPS}?labelSelector=shard%3D{shard}") for shard in range(SHARDS)]
    sizes = [len(each["items"]) for each in lists]
    screen.tell(
        "A leader is one process, which caches all objects. If that is too much for it, several controllers "
        "can divide the objects, each with its own selector and lease:"
    )
    screen.table(("shard", "objects"), list(enumerate(sizes)))
    screen.break_it(
        "somebody changes the label of `app-0` from shard 0 to shard 1.",
        "What does shard 0's watch receive: ADDED, MODIFIED, DELETED, or nothing?",
    )
    stage.send("PATCH", f"{CONFIG_MAPS}/app-0", {"metadata": {"labels": {"shard": "1"}}})
    moved = []
    for shard in (0, 1):
        version = lists[shard]["metadata"]["resourceVersion"]
        with stage.watch(CONFIG_MAPS, f"{version}&labelSelector=shard%3D{shard}") as events:
            moved.append(next(events)["type"])
        screen.line(f"shard {shard} receives {moved[-1]} app-0")
    screen.reveal(
        "DELETED. The object still exists, but no longer matches the selector. So a missing object is not "
        "always a deleted one. The old shard may also be in the middle of a sync when the new one starts. "
        "Only the version in each write prevents lost changes.",
        Words(("deleted",), ("added", "modified", "nothing")),
    )
    return sizes, moved
