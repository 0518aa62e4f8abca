"""The scenes of the live page: an introduction, then one Foo's way through the twelve steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from handloop.picture.page_data import Scenes
from handloop.picture.snippets import Snippet, snippet_with, snippets

_WRITE: Final = 10


class Without(NamedTuple):
    """What breaks without a part, in the words of docs/walkthrough.md, and the test that shows it."""

    words: str
    test: str


class Scene(NamedTuple):
    """
    One scene: a step, a sentence that says what happens there, and the reason. The introduction has step 0.

    kind, by and facts select one occurrence of the step. kind is the plural of the object's kind. by is the
    beginning of the thread's name. facts are facts that the step must have; None = with any value. The
    search starts at the step of scene number after; 0 = the previous scene. Braces in sentence are replaced
    by the step's facts, by its `key`, `thread` and `name`, or by the Foo's numbers of replicas, `desired`
    and `available`. line is a part of the source line to show below the step's comment; "" = the first line.
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
        """The key of the scene's source code in the page's data."""
        return f"{self.step}: {self.line}" if self.line else str(self.step)


SCENES: Final = (
    Scene(
        0,
        "A Foo specifies a number of replicas. Its controller creates a Deployment with that number, and "
        "corrects the Deployment whenever the number differs.",
        "The picture shows the inside of the controller. The boxes contain objects and keys, and twelve "
        "numbered steps move them. You follow one Foo through all steps. At each one, guess what would break "
        "without it. The next press shows the answer.",
    ),
    Scene(
        1,
        "The API server sends the reflector a new Foo: one line of JSON, on a watch that stays open.",
        "A watch sends every change after a given version. The reflector remembers the newest version that "
        "it received, so it never requests the same change twice.",
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
        "One thread reads from the network, and another one processes the changes. While the second thread "
        "is busy, all changes to an object wait under its key.",
        Without(
            "a list of deltas per key (only the newest is kept): a Foo that is deleted and created again "
            "looks like an update. No handler is notified of the first Foo's deletion",
            "test_without_all_deltas_a_new_object_of_the_name_is_an_update",
        ),
        kind="foos",
    ),
    Scene(
        3,
        "The informer's thread pops {name}, with everything that happened to it: {types}.",
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
        "An index finds all objects with a given value directly, without checking every object.",
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
        "{name} is in the cache. No handler has been notified yet.",
        "The cache is updated first, so that a worker that gets the Foo's key later finds the Foo there.",
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
        "Now the informer notifies the controller's handler that {name} was added.",
        "Every handler has its own buffer and its own thread, so a slow handler does not delay the others.",
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
        "The object stays in the cache, and only its name goes into the queue. A name can wait, merge with "
        "an equal name and be retried, while the object in the cache stays up to date.",
        Without(
            "names as keys (objects are queued instead): two states of a Foo are two items. Two "
            "workers can process them at once, and the one with the older state can write last",
            "test_with_objects_for_keys_two_workers_have_one_foo",
        ),
        by="listener-foos",
    ),
    Scene(
        8,
        "{thread} gets the key. The key is now in the processing set.",
        "No other worker can get a key that is in processing, so two workers never sync a Foo at once.",
        Without(
            "the processing set: if a Foo changes while it is being synced, a second worker gets its key. "
            "Two syncs of the same Foo then race each other",
            "test_without_the_processing_set_two_workers_have_one_key",
        ),
    ),
    Scene(
        9,
        "{thread} reads the Foo from the cache. It sends no request.",
        "The worker does not need to know what has happened to the Foo. It needs only the current state.",
        Without(
            "the cache: each sync sends a request, even if there is nothing to do",
            "test_without_the_cache_each_sync_is_a_request",
        ),
        kind="foos",
        line="get_by_key(str(name))",
    ),
    Scene(
        9,
        "{thread} looks for the Foo's Deployment, but the cache does not have one.",
        "The sync acts on this difference alone. It would find the same difference after a crash, or after "
        "a missed event.",
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
        "The Deployment names the Foo as its owner. So an event of the Deployment queues the Foo's key, and "
        "when the Foo is deleted, the garbage collector also deletes the Deployment.",
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
        "The status reports how many replicas are available. It is written last, because it describes the "
        "result of the other writes.",
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
        "The new Deployment arrives through a watch, and a handler queues its owner's key: {key}.",
        "The controller receives its own writes as watch events, like all other changes. While a worker has "
        "a key, another add of the key waits in the dirty set.",
        Without(
            "the dirty set: if a Foo changes while it is being synced, no worker syncs it again",
            "test_without_the_dirty_set_a_change_during_a_sync_is_lost",
        ),
        by="listener-deployments",
        after=11,
    ),
    Scene(
        11,
        "The sync succeeded, so {thread} calls forget(), which resets the failure count of {name} to 0.",
        "A failed sync is retried after 5 ms, then 10 ms, then 20 ms. Only retries wait: a key that a "
        "handler adds goes into the queue at once.",
        Without(
            "forget: when the Foo fails again after a success, it waits as if it had never succeeded",
            "test_without_forget_the_back_off_stays_high",
        ),
        facts={"forgotten": None},
    ),
    Scene(
        12,
        "done() removes the key from processing. If the key is dirty by now, it goes back into the queue.",
        "So the Foo is synced again, until nothing changes during a sync. The caches are the controller's "
        "only memory. If it is killed at any of these steps, the next process lists again and starts over.",
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
        "The Deployment controller is a controller like this one, in another process. Neither calls the "
        "other. Its write is one more watch event, and goes through the same twelve steps.",
        kind="deployments",
        facts={"new": False},
    ),
    Scene(
        10,
        "{thread} reads both objects again, and writes the number of available replicas into the Foo's "
        "status. The server answers {code}.",
        "The Deployment controller started the pods. The Foo's controller only reports their number.",
        kind="foos",
        line="self._foos.update_status(",
    ),
    Scene(
        12,
        "done(): nothing has changed, so {name} needs no more work. Replicas: {available} of {desired} "
        "available.",
        "The Deployment matches the Foo, and all threads wait. The next event goes through the same steps.",
        facts={"again": False},
    ),
)


def scenes(docs: Mapping[int, str] | None = None) -> Scenes:
    """Return all scenes. Args: docs maps steps to their addresses in the docs; None = no links to docs."""
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
    """Return a scene's source. In chapter 16, this is the reader's code, except for the status write."""
    shown = snippets()[scene.step]
    is_own = "/" not in shown.path and scene.step != _WRITE
    return shown if is_own else snippet_with(scene.step, scene.line)
