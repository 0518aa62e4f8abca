"""The live page's recordings, with their captions, and the steps that each must show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from handloop.picture.recording import GAP

WORKER: Final = "worker-0"
"""The only worker of each run."""
PRESENT: Final = object()
"""A fact with any value."""


FOO: Final = "default/example-foo"


class Mark(NamedTuple):
    """A step that a run must show, which is the nth step that matches the other fields."""

    name: str
    step: int
    component: str = ""
    key: str = ""
    facts: Mapping[str, Any] = {}
    thread: str = ""
    nth: int = 1


class Run(NamedTuple):
    """
    One run. name: its name in addresses; about: its content, in one sentence.

    marks: steps that appear in this order, each with an address, `#run=NAME&at=MARK`. opening: the situation
    before the first step. says: captions for some of the marks, at which the recording stops. key: the only
    key shown at first, or "" for all keys. shows: the page's filters that are turned on.
    """

    name: str
    title: str
    about: str
    marks: tuple[Mark, ...]
    opening: str
    says: Mapping[str, str]
    key: str = FOO
    shows: tuple[str, ...] = ()


RUNS: Final = (
    Run(
        "apply",
        "A Foo is applied",
        "One Foo goes through the twelve steps, and gets its Deployment and its status.",
        (
            Mark("listed", 1, "foos", facts={"listed": 0}),
            Mark("added", 2, "foos", FOO, {"type": "Added"}),
            Mark("stored", 5, "Foo", FOO, {"new": True}),
            Mark("queued", 7, key=FOO),
            Mark("got", 8, key=FOO),
            Mark("read", 9, "foos", FOO, {"found": True}, WORKER),
            Mark("created", 10, "deployments", facts={"verb": "create", "code": "201"}),
            Mark("status", 10, "foos", FOO, {"verb": "update status", "code": "200"}),
            Mark("forgotten", 11, key=FOO, facts={"forgotten": PRESENT}),
            Mark("settled", 12, key=FOO, facts={"again": False}),
            Mark("available", 5, "Deployment", FOO, {"new": False}),
            Mark("reported", 10, "foos", FOO, {"verb": "update status", "code": "200"}),
        ),
        "A controller starts with empty caches. Its worker begins once they are filled. A Foo is created.",
        {
            "added": "The watch brings a new Foo. The reflector puts it into the DeltaFIFO.",
            "stored": "The Foo is in the cache now. Only then does a handler hear of it.",
            "queued": "The handler queues the key of the Foo, and nothing else.",
            "read": "A worker has the key, and reads the Foo from the cache. It sends no request.",
            "created": "There is no Deployment yet, so the worker creates one.",
            "settled": "Nothing has changed in the meantime, so the key is done, and all threads wait.",
            "available": "The pod is running: the Deployment controller has written availableReplicas: 1.",
            "reported": "So the worker writes the Foo's status again: 1 of 1 is available.",
        },
    ),
    Run(
        "merge",
        "Seven changes that merge",
        "A Foo changes seven times while the only worker is busy: seven adds, one sync. "
        "That sync's write wakes another.",
        (
            Mark("busy", 8, key="default/slow-foo"),
            Mark("queued", 7, key=FOO, facts={"merged": False}),
            Mark("merged", 7, key=FOO, facts={"merged": True}),
            Mark("seventh", 7, key=FOO, facts={"merged": True}, nth=5),
            Mark("got", 8, key=FOO),
            Mark("scaled", 10, "deployments", FOO, {"code": "200"}),
            Mark("settled", 12, key=FOO, facts={"again": False}),
        ),
        "There is one worker. A Foo named slow-foo is created, and the server will take a second to "
        "create its Deployment. Meanwhile example-foo is scaled seven times.",
        {
            "busy": "The only worker takes slow-foo, and then waits a second for the server.",
            "queued": "Meanwhile example-foo changes. Its handler queues the key.",
            "merged": "It changes again. The key is already in the queue, so the two adds become one.",
            "seventh": "Seven changes, and still one key.",
            "got": "The worker is free, and gets the key once for all seven.",
            "scaled": "It reads the newest Foo from the cache, and scales the Deployment once.",
            "settled": "Its own writes come back and wake one more sync, which has nothing left to do.",
        },
        key="",
    ),
    Run(
        "in-flight",
        "A change while a worker has the key",
        "The Deployment changes in the middle of a sync. The queue keeps the key, and done() queues it.",
        (
            Mark("got", 8, key=FOO),
            Mark("dirty", 7, key=FOO, facts={"in_flight": True, "merged": False}),
            Mark("again", 12, key=FOO, facts={"again": True}),
            Mark("second", 8, key=FOO),
            Mark("reported", 10, "foos", FOO, {"code": "200"}),
            Mark("settled", 12, key=FOO, facts={"again": False}),
        ),
        "A Foo gets a label, and the server will take a second to answer its status write. "
        "Meanwhile its Deployment becomes available.",
        {
            "got": "A worker gets the key. Its status write will take a second.",
            "dirty": "Meanwhile the Deployment changes. A worker has the key, so the key stays in dirty.",
            "again": "done() finds the key in dirty, and queues it, so the change is not lost.",
            "second": "A worker gets the key again, and looks at how things are now.",
            "reported": "It writes what the first sync could not know: 1 replica is available.",
            "settled": "This time nothing has changed in the meantime: the key is done.",
        },
    ),
    Run(
        "missing-done",
        "A missing done()",
        "A worker forgets done(). It is free, but no worker gets that key until done() is called after all.",
        (
            Mark("lost", 11, key=FOO, facts={"forgotten": PRESENT}),
            Mark("stuck", 7, key=FOO, facts={"in_flight": True}),
            Mark("free", 8, key="default/other-foo"),
            Mark("done", 12, key=FOO, facts={"again": True}),
            Mark("got", 8, key=FOO),
            Mark("settled", 12, key=FOO, facts={"again": False}),
        ),
        "A Foo is scaled. At the end of its sync, the worker will leave out done(). It is called after "
        "another Foo has been synced.",
        {
            "lost": "The worker forgets done(), so for the queue, the key is still in processing.",
            "stuck": "The Foo changes. The queue believes that a worker has the key, and keeps it in dirty.",
            "free": "The worker is free: it takes other-foo at once. But it never gets example-foo.",
            "done": "done() is called after all. The key is dirty, so it goes back into the queue.",
            "got": "Now a worker gets it, and sees the change that has waited all this time.",
            "settled": "Without that call, it would have waited forever, without any error.",
        },
        key="",
    ),
    Run(
        "expired",
        "410 Gone, a new list, and a tombstone",
        "A watch breaks, a Foo is deleted meanwhile, and the server has forgotten the history since.",
        (
            Mark("broke", 1, "foos", facts={"broke": PRESENT}),
            Mark("expired", 1, "foos", facts={"expired": True}),
            Mark("listing", 1, "foos", facts={"listing": PRESENT}),
            Mark("listed", 1, "foos", facts={"listed": 1}),
            Mark("tombstone", 2, "foos", "default/gone-foo", {"tombstone": True}),
            Mark("dropped", 5, "Foo", "default/gone-foo", {"deleted": True}),
            Mark("told", 6, key="default/gone-foo", facts={"ignored": True}),
        ),
        "There are two Foos, and gone-foo gets a label. Then the watch of Foos breaks. The server refuses "
        "new ones for a moment, and gone-foo is deleted meanwhile.",
        {
            "broke": "The watch of Foos breaks. The cache stays as it is.",
            "expired": "The server answers 410: it has forgotten the events since our version.",
            "listing": "So the reflector lists all Foos again.",
            "listed": "The list has one Foo fewer. Nobody saw gone-foo go.",
            "tombstone": "A tombstone takes the place of the event that was missed.",
            "dropped": "So gone-foo leaves the cache, although nobody saw its deletion.",
            "told": "This controller has no delete function for Foos, so nothing is queued.",
        },
        key="",
    ),
    Run(
        "failures",
        "Three failures and their back-off",
        "The server refuses three creates. Each wait is twice the one before. A success resets the count.",
        (
            Mark("first", 11, key=FOO, facts={"failures": 1}),
            Mark("second", 11, key=FOO, facts={"failures": 2}),
            Mark("third", 11, key=FOO, facts={"failures": 3}),
            Mark("created", 10, "deployments", facts={"verb": "create", "code": "201"}),
            Mark("forgotten", 11, key=FOO, facts={"forgotten": 3}),
        ),
        "A Foo is created. The server will answer the first three creates of its Deployment with 500.",
        {
            "first": "The server refuses the create. After the first failure, the key waits 5 ms.",
            "second": "It is refused again, and now the key waits 10 ms.",
            "third": "And again: 20 ms. Each wait is twice as long as the one before.",
            "created": "The fourth create succeeds.",
            "forgotten": "So forget() resets the count. The next failure would wait 5 ms again.",
        },
    ),
    Run(
        "conflict",
        "A stale cache and its 409",
        "Another writer was faster, and the cache does not know yet, so the server refuses the old version.",
        (
            Mark("stale", 9, "foos", FOO, thread=WORKER),
            Mark("conflict", 10, "foos", FOO, {"code": "409"}),
            Mark("retry", 11, key=FOO, facts={"failures": 1}),
            Mark("fresh", 5, "Foo", FOO),
            Mark("written", 10, "foos", FOO, {"code": "200"}),
            Mark("settled", 12, key=FOO, facts={"again": False}),
        ),
        "A Foo has its Deployment. The watch of Foos is late, so the cache hears of changes too late.",
        {
            "stale": "The worker reads the Foo from the cache. It cannot know that this version is old.",
            "conflict": "It writes the status with the old version. The server refuses: 409.",
            "retry": "So the sync has failed, and the key comes back after 5 ms.",
            "fresh": "At last the watch delivers the new version.",
            "written": "The next sync reads that one, and the server accepts the write.",
            "settled": "Its own write has come back through the watch. Nothing is left to do.",
        },
    ),
    Run(
        "restart",
        "kill -9, and a new process",
        "The process dies between create and status. The next one lists, compares, and writes the rest.",
        (
            Mark("created", 10, "deployments", facts={"code": "201"}),
            Mark("killed", GAP),
            Mark("listed", 1, "foos", facts={"listed": 1}),
            Mark("got", 8, key=FOO),
            Mark("found", 9, "deployments", FOO, {"found": True}, WORKER),
            Mark("status", 10, "foos", FOO, {"code": "200"}),
            Mark("settled", 12, key=FOO, facts={"again": False}),
        ),
        "A controller starts, and a Foo is created. The server will never answer its status write.",
        {
            "created": "The worker has created the Deployment. Next it would write the status.",
            "listed": "The new process asks what there is. It finds the Foo.",
            "got": "To its handler the Foo is new, so the key is queued, and a worker gets it.",
            "found": "It finds the Deployment in the cache, so it creates none.",
            "status": "It writes what was missing: the status.",
            "settled": "Nothing was lost, and nothing was done twice.",
        },
    ),
    Run(
        "lease",
        "The lease changes hands",
        "The leader loses the server and gives up. The standby takes the lease, and its workers begin.",
        (
            Mark("leads", 10, "leases", facts={"verb": "create"}),
            Mark("refused", 10, "leases", facts={"code": "500"}),
            Mark("gone", GAP),
            Mark("waiting", 5, "Foo", FOO),
            Mark("taken", 10, "leases", facts={"code": "200"}),
            Mark("got", 8, key=FOO),
            Mark("scaled", 10, "deployments", FOO, {"code": "200"}),
            Mark("settled", 12, key=FOO, facts={"again": False}),
        ),
        "This is ada, one of two replicas. It takes the lease, and a Foo is created. Later the server "
        "answers it only with errors.",
        {
            "leads": "ada creates the lease, and leads.",
            "refused": "The server answers ada with errors, so it cannot renew its lease.",
            "waiting": "The Foo changes while nobody leads. bob's cache knows it, but bob has no worker yet.",
            "taken": "The lease has expired. bob takes it, and leads.",
            "got": "Now its workers start, and one gets the key.",
            "scaled": "It scales the Deployment. No change was lost while nobody led.",
            "settled": "Its own writes come back. bob has nothing left to do, and keeps the lease.",
        },
        shows=("events",),
    ),
    Run(
        "storm",
        "A storm of creates, and what stops it",
        "A Foo is gone, but the cache still has it, so the plain controller creates its Deployment again and "
        "again.",
        (
            Mark("deleted", 5, "Deployment", FOO, {"deleted": True}),
            Mark("stale", 9, "foos", FOO, {"found": True}, WORKER),
            Mark("created", 10, "deployments", facts={"code": "201"}),
            Mark("again", 5, "Deployment", FOO, {"deleted": True}),
            Mark("unslowed", 7, key=FOO, facts={"merged": True}, thread="delaying-"),
            Mark("over", 11, key=FOO, facts={"forgotten": PRESENT}),
            Mark("hardened", GAP),
            Mark("asked", 10, "foos", FOO, {"verb": "get", "code": "404"}),
            Mark("stopped", 12, key=FOO, facts={"again": False}),
        ),
        "A Foo has its Deployment. The watch of Foos is late, so the cache hears of changes too late.",
        {
            "stale": "The worker looks into the cache, and the cache still has the dead Foo.",
            "created": "So it creates the Deployment again, for an owner that is gone.",
            "again": "The garbage collector deletes it, and that event queues the key at once.",
            "unslowed": "Back-off does not slow the storm, because each event queues the key at once.",
            "over": "Only the late watch ends the storm, when the Foo leaves the cache at last.",
            "asked": "It asks: 404, the Foo is gone. So it creates nothing.",
        },
    ),
)
