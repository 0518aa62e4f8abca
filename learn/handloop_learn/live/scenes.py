"""The director's scenes: the picture, then one Foo through the twelve steps, from its watch event to rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from handloop.picture.page_data import Scenes
from handloop.picture.snippets import Snippet, snippet_with, snippets

_WRITE: Final = 10


class Without(NamedTuple):
    """What breaks without the part: a point of docs/walkthrough.md, and the test that shows the harm."""

    words: str
    test: str


class Scene(NamedTuple):
    """
    One scene: a step of a recording, what happens there, and why. Step 0 = none: the picture is explained.

    kind, by and facts select one of the step's occurrences: the kind's plural, the beginning of the thread's
    name, and facts that it has (None = with any value). after is the scene after which the page looks for it,
    0 = the previous one. Braces in sentence stand for the step's facts, for its `key`, `thread` and `name`,
    or for the Foo's replicas, `desired` and `available`.
    line is a part of the line to show below the step's comment; "" = the first line.
    """

    step: int
    sentence: str
    reason: str
    without: Without | None = None
    kind: str = ""
    by: str = ""
    facts: Mapping[str, Any] = {}
    after: int = 0
    line: str = ""

    @property
    def code(self) -> str:
        """The name of its piece of source code."""
        return f"{self.step}: {self.line}" if self.line else str(self.step)


SCENES: Final = (
    Scene(
        0,
        "A Foo asks for a number of replicas. Its controller keeps that promise: it creates a Deployment "
        "with that many, and keeps it that way, whatever happens.",
        "The picture shows the inside of the controller: boxes hold things, and numbered steps move them. "
        "You follow one Foo through all twelve. First guess what would break without a step; the next press "
        "tells you.",
    ),
    Scene(
        1,
        "The API server tells the reflector about a new Foo: one line of JSON, on a watch that stays open.",
        "A watch sends every change after a given version. The reflector remembers the newest version it has "
        "seen, so it never asks for the same change twice.",
        Without(
            "the last resource version: each new watch starts at the list's version. The server sends "
            "earlier changes again, and the cache shows old states again",
            "test_without_the_last_version_a_new_watch_brings_the_past",
        ),
        kind="foos",
        facts={"events": None},
        line="return self._read_watch()",
    ),
    Scene(
        2,
        "The reflector puts {name} into the DeltaFIFO, together with what happened to it: {type}.",
        "One thread reads from the network, and another one works. While the second is busy, all changes to "
        "an object wait under its key.",
        Without(
            "a list of deltas per key (only the newest is kept): a Foo that is deleted and created again "
            "looks like an update. No handler is notified of the first Foo's deletion",
            "test_without_all_deltas_a_new_object_of_the_name_is_an_update",
        ),
        kind="foos",
    ),
    Scene(
        3,
        "The informer's own thread pops {name}, with everything that happened to it: {types}.",
        "One pop takes all deltas of a key, in order, so neither the cache nor a handler misses one.",
        Without(
            "the lock around a DeltaFIFO's process: a relist after an object is popped, but before it is "
            "stored, finds it neither in the line nor in the cache. If the object was deleted, no tombstone "
            "is created, and it stays in the cache forever",
            "test_without_the_lock_around_process_a_missed_deletion_is_never_found",
        ),
        kind="foos",
    ),
    Scene(
        4,
        "{name} is added to the indexes of the cache: {indexes}.",
        "An index finds all objects with a given value at once, without looking at every object.",
        Without(
            "removing the old values: a Foo is still found under a value that it no longer has. Once the "
            "Foo is deleted, that look-up raises an error",
            "test_without_taking_old_values_out_an_index_finds_what_has_changed",
        ),
        kind="foos",
        line="index.change(key, old, obj)",
    ),
    Scene(
        5,
        "{name} is in the cache. No handler has heard of it yet.",
        "The cache comes first. A worker that hears of the Foo later can be sure to find it there.",
        Without(
            "the store before the dispatch: a handler is notified of a Foo that is not in the cache yet. A "
            "fast worker does not find it there, and concludes that it was deleted. That is not an error, "
            "so the worker does not retry",
            "test_without_store_before_dispatch_a_worker_finds_no_foo",
        ),
        kind="foos",
    ),
    Scene(
        6,
        "Now the informer tells the controller's handler that {name} was added.",
        "Every handler has its own buffer and its own thread, so a slow handler delays nobody else.",
        Without(
            "a buffer per handler: a slow handler runs on the informer thread, under the FIFO's lock. The "
            "other handlers are not called, and even the reflector has to wait",
            "test_without_a_buffer_per_handler_a_slow_one_stops_all",
        ),
        kind="foos",
    ),
    Scene(
        7,
        "The handler puts the key {key} into the work queue, and nothing else.",
        "The object is in the cache; only its name goes into the queue. A name can wait, merge with an "
        "equal one and be retried, while the object in the cache gets newer.",
        Without(
            "names as keys (the queue holds the objects instead): two states of a Foo are two items. Two "
            "workers can process them at once, and the one with the older state can write last",
            "test_with_objects_for_keys_two_workers_have_one_foo",
        ),
        by="listener-foos",
    ),
    Scene(
        8,
        "{thread} gets the key. The key is now in processing.",
        "No other worker can get a key that is in processing, so two workers never work on the same Foo.",
        Without(
            "the set processing: if a Foo changes while it is being synced, a second worker gets its key. "
            "Two syncs of the same Foo then race each other",
            "test_without_the_processing_set_two_workers_have_one_key",
        ),
    ),
    Scene(
        9,
        "{thread} reads the Foo from the cache. It sends no request.",
        "The worker does not ask what happened. It asks what the Foo looks like now.",
        Without(
            "the cache: each sync sends a request, even if there is nothing to do",
            "test_without_the_cache_each_sync_is_a_request",
        ),
        kind="foos",
        line="get_by_key(str(name))",
    ),
    Scene(
        9,
        "{thread} looks for the Foo's Deployment, and the cache does not have one.",
        "This difference is all that the sync needs. It would find the same difference after a crash, or "
        "after an event that nobody saw.",
        Without(
            "the wait for the caches: the controller mistakes an empty cache for an empty cluster, and "
            "creates objects that already exist",
            "test_without_waiting_for_the_caches_a_worker_takes_them_for_the_world",
        ),
        kind="deployments",
        facts={"found": False},
        line="get_by_key(str(name))",
    ),
    Scene(
        10,
        "{thread} creates the Deployment. The server answers {code}.",
        "The Deployment names the Foo as its owner. So an event of the Deployment leads back to the Foo, and "
        "when the Foo is deleted, the garbage collector deletes the Deployment, too.",
        Without(
            "the owner reference: the Deployment outlives its Foo, and the next sync treats it as another "
            "owner's",
            "test_without_an_owner_a_deployment_outlives_its_foo",
        ),
        kind="deployments",
        facts={"verb": "create"},
    ),
    Scene(
        10,
        "{thread} writes the Foo's status. The server answers {code}.",
        "The status says how far the promise is kept. It is written last, because it reports what the other "
        "writes have done.",
        Without(
            "the production controller's comparison before a write: each sync writes the status and records "
            "an Event. A hundred resyncs cost a hundred requests",
            "test_without_comparing_first_each_sync_is_a_write",
        ),
        kind="foos",
        line="self._foos.update_status(",
    ),
    Scene(
        7,
        "The new Deployment comes back through a watch, and its handler queues the owner: {key}.",
        "The controller hears of its own writes just as it hears of all others. While a worker has the key, "
        "the key waits in dirty.",
        Without(
            "the set dirty: if a Foo changes while it is being synced, no worker syncs it again",
            "test_without_the_dirty_set_a_change_during_a_sync_is_lost",
        ),
        by="listener-deployments",
        after=11,
    ),
    Scene(
        11,
        "The sync succeeded, so {thread} calls forget(): the failure count of {name} is 0 again.",
        "A failed sync is retried after 5 ms, then 10, then 20. Only retries wait like this: when a "
        "handler adds a key, it goes into the queue at once.",
        Without(
            "forget: when the Foo fails again after a success, it waits as if it had never succeeded",
            "test_without_forget_the_back_off_stays_high",
        ),
        facts={"forgotten": None},
    ),
    Scene(
        12,
        "done(): the key leaves processing. If it is dirty by now, it goes back into the queue.",
        "So a worker looks again, until nothing has changed in the meantime. The controller remembers "
        "nothing except its caches: kill it at any of these steps, and it simply begins again.",
        Without(
            "done: the queue assumes that a worker still has the key. Later adds only make it dirty, and it "
            "is never synced again",
            "test_without_done_a_key_is_stuck_for_ever",
        ),
    ),
    Scene(
        5,
        "Meanwhile the Deployment controller has started the pods and written their number into the "
        "Deployment. The cache has that version now.",
        "It is a controller like this one, in another process. It does not call us, and we do not call it: "
        "its write is one more watch event, and takes the same twelve steps.",
        kind="deployments",
        facts={"new": False},
    ),
    Scene(
        10,
        "{thread} reads both objects again, and writes the number of replicas into the Foo's status. "
        "The server answers {code}.",
        "Who made those pods? The Deployment controller did. Our controller only reports it.",
        kind="foos",
        line="self._foos.update_status(",
    ),
    Scene(
        12,
        "done(): nothing has changed. {name} is at rest, {available} of {desired} available.",
        "The promise is kept, and all threads wait. The next event, whatever it is, takes the same path.",
        facts={"again": False},
    ),
)


def scenes(docs: Mapping[int, str] | None = None) -> Scenes:
    """All scenes, for the page. Args: docs: each step's address in the docs; None = no docs are beside it."""
    docs = docs or {}
    return Scenes(
        [
            scene._asdict()
            | {
                "without": scene.without and scene.without._asdict(),
                "docs": docs.get(scene.step),
                "code": scene.code,
            }
            for scene in SCENES
        ],
        {scene.code: _lines_of(scene)._asdict() for scene in SCENES if scene.line},
    )


def _lines_of(scene: Scene) -> Snippet:
    """The lines of a scene's step: in chapter 16 the reader's own, except for the status, which is ours."""
    shown = snippets()[scene.step]
    is_own = "/" not in shown.path and scene.step != _WRITE
    return shown if is_own else snippet_with(scene.step, scene.line)
