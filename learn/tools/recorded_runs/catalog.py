"""The live page's recordings, with their captions, and the steps that each must show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from handloop.picture.recording import GAP

WORKER: Final = "worker-0"
"""The only worker of each run."""
PRESENT: Final = object()
"""Matches any value of a fact."""


FOO: Final = "default/example-foo"


class Mark(NamedTuple):
    """A step that a run must show: the nth one that has this number, these facts and these parts of names."""

    name: str
    step: int
    component: str = ""
    key: str = ""
    facts: Mapping[str, Any] = {}
    thread: str = ""
    nth: int = 1


class Run(NamedTuple):
    """
    One recording: its name in addresses, its title, and a summary (about).

    The steps contain the marks in this order. Each mark has an address, `#run=NAME&at=MARK`. opening is shown
    before the first step, and says what was arranged. key is the only key shown at first; "" = all keys.
    shows names the page's filters that are turned on. says has a line of text for some of the marks. Playback
    stops at these marks, which are called moments.
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
        "A controller starts with empty caches. Its worker starts when they are full. Then a Foo is created.",
        {
            "added": "The watch delivers a new Foo. The reflector puts it into the DeltaFIFO.",
            "stored": "The Foo is in the cache now. The handlers are notified only after that.",
            "queued": "The handler queues the Foo's key, and does nothing else.",
            "read": "A worker has the key, and reads the Foo from the cache. It sends no request.",
            "created": "The Foo has no Deployment yet, so the worker creates one.",
            "settled": "Nothing has changed in the meantime, so the key is done, and all threads wait.",
            "available": "The pod is running, so the Deployment controller sets availableReplicas to 1.",
            "reported": "So the worker writes the Foo's status again, with one available replica.",
        },
    ),
    Run(
        "merge",
        "Seven changes that merge",
        "A Foo changes seven times while the only worker is busy. One sync covers all changes. "
        "Its write leads to another sync.",
        (
            Mark("busy", 8, key="default/slow-foo"),
            Mark("queued", 7, key=FOO, facts={"merged": False}),
            Mark("merged", 7, key=FOO, facts={"merged": True}),
            Mark("seventh", 7, key=FOO, facts={"merged": True}, nth=5),
            Mark("got", 8, key=FOO),
            Mark("scaled", 10, "deployments", FOO, {"code": "200"}),
            Mark("settled", 12, key=FOO, facts={"again": False}),
        ),
        "The controller has one worker. A Foo named slow-foo is created, and the server takes a second to "
        "create its Deployment. Meanwhile example-foo is scaled seven times.",
        {
            "busy": "The only worker gets slow-foo, and then waits a second for the server.",
            "queued": "Meanwhile example-foo changes, and a handler queues its key.",
            "merged": "The Foo changes again. The key is already in the queue, so the two adds become one.",
            "seventh": "After seven changes, the queue still contains the key only once.",
            "got": "The worker is free again, and gets the key once for all seven changes.",
            "scaled": "The worker reads the newest Foo from the cache, and scales the Deployment once.",
            "settled": "The worker's own writes come back as events. One more sync finds nothing to do.",
        },
        key="",
    ),
    Run(
        "in-flight",
        "A change while a worker has the key",
        "The Deployment changes during a sync. The key waits in dirty until done() queues it.",
        (
            Mark("got", 8, key=FOO),
            Mark("dirty", 7, key=FOO, facts={"in_flight": True, "merged": False}),
            Mark("again", 12, key=FOO, facts={"again": True}),
            Mark("second", 8, key=FOO),
            Mark("reported", 10, "foos", FOO, {"code": "200"}),
            Mark("settled", 12, key=FOO, facts={"again": False}),
        ),
        "A Foo receives a label, and the server takes a second to answer the write of its status. "
        "Meanwhile its Deployment becomes available.",
        {
            "got": "A worker gets the key. Its write of the status takes a second.",
            "dirty": "Meanwhile the Deployment changes. While a worker has the key, the key waits in dirty.",
            "again": "done() finds the key in dirty, and queues it, so the change is not lost.",
            "second": "A worker gets the key again, and reads the current state.",
            "reported": "The worker writes what changed during the first sync: 1 replica is available.",
            "settled": "This time nothing has changed in the meantime, so the key is done.",
        },
    ),
    Run(
        "missing-done",
        "A missing done()",
        "A worker leaves out done(). The worker is free, but no worker gets that key until done() is called.",
        (
            Mark("lost", 11, key=FOO, facts={"forgotten": PRESENT}),
            Mark("stuck", 7, key=FOO, facts={"in_flight": True}),
            Mark("free", 8, key="default/other-foo"),
            Mark("done", 12, key=FOO, facts={"again": True}),
            Mark("got", 8, key=FOO),
            Mark("settled", 12, key=FOO, facts={"again": False}),
        ),
        "A Foo is scaled. At the end of its sync, the worker leaves out done(). The missing call is made "
        "after another Foo has been synced.",
        {
            "lost": "The worker leaves out done(), so the key stays in processing.",
            "stuck": "The Foo changes. Its key is still in processing, so it waits in dirty.",
            "free": "The worker is free, and gets other-foo at once. But it does not get example-foo.",
            "done": "Now done() is called. The key is dirty, so it goes back into the queue.",
            "got": "Now a worker gets the key, and syncs the Foo with its change.",
            "settled": "Without the call of done(), the change would have waited forever, without an error.",
        },
        key="",
    ),
    Run(
        "expired",
        "410 Gone, a new list, and a tombstone",
        "A watch breaks, and a Foo is deleted. Then the server no longer has the events since the break.",
        (
            Mark("broke", 1, "foos", facts={"broke": PRESENT}),
            Mark("expired", 1, "foos", facts={"expired": True}),
            Mark("listing", 1, "foos", facts={"listing": PRESENT}),
            Mark("listed", 1, "foos", facts={"listed": 1}),
            Mark("tombstone", 2, "foos", "default/gone-foo", {"tombstone": True}),
            Mark("dropped", 5, "Foo", "default/gone-foo", {"deleted": True}),
            Mark("told", 6, key="default/gone-foo", facts={"ignored": True}),
        ),
        "Two Foos exist, and gone-foo receives a label. Then the watch of Foos breaks. The server refuses "
        "new watches for a moment, and gone-foo is deleted meanwhile.",
        {
            "broke": "The watch of Foos breaks. The cache stays as it is.",
            "expired": "The server returns 410, because it no longer has the events since the break.",
            "listing": "So the reflector lists all Foos again.",
            "listed": "The list has one Foo fewer. No watch reported the deletion of gone-foo.",
            "tombstone": "A tombstone replaces the missed event.",
            "dropped": "So gone-foo leaves the cache, although the event was missed.",
            "told": "This controller's handler of Foos has no function for deletes, so no key is queued.",
        },
        key="",
    ),
    Run(
        "failures",
        "Three failures and their back-off",
        "The server refuses three creates. Each wait is twice the last one. A success resets the count.",
        (
            Mark("first", 11, key=FOO, facts={"failures": 1}),
            Mark("second", 11, key=FOO, facts={"failures": 2}),
            Mark("third", 11, key=FOO, facts={"failures": 3}),
            Mark("created", 10, "deployments", facts={"verb": "create", "code": "201"}),
            Mark("forgotten", 11, key=FOO, facts={"forgotten": 3}),
        ),
        "A Foo is created. The server answers the first three creates of its Deployment with 500.",
        {
            "first": "The server refuses the create. After the first failure, the key waits 5 ms.",
            "second": "The create is refused again, and now the key waits 10 ms.",
            "third": "After the third failure, the key waits 20 ms. Each wait is twice as long as the last.",
            "created": "The fourth create succeeds.",
            "forgotten": "So forget() resets the failure count. The next wait would be 5 ms again.",
        },
    ),
    Run(
        "conflict",
        "A stale cache and its 409",
        "Another client has changed the Foo. The cache is behind, so the server refuses the worker's write.",
        (
            Mark("stale", 9, "foos", FOO, thread=WORKER),
            Mark("conflict", 10, "foos", FOO, {"code": "409"}),
            Mark("retry", 11, key=FOO, facts={"failures": 1}),
            Mark("fresh", 5, "Foo", FOO),
            Mark("written", 10, "foos", FOO, {"code": "200"}),
            Mark("settled", 12, key=FOO, facts={"again": False}),
        ),
        "A Foo has its Deployment. The watch of Foos is delayed, so changes reach the cache late.",
        {
            "stale": "The worker reads the Foo from the cache. It cannot know that this version is old.",
            "conflict": "The worker writes the status with the old version. The server returns 409.",
            "retry": "So the sync has failed, and the key is queued again after 5 ms.",
            "fresh": "At last the watch delivers the new version.",
            "written": "The next sync reads the new version, and the server accepts its write.",
            "settled": "The worker's own write has come back as an event. Nothing is left to do.",
        },
    ),
    Run(
        "restart",
        "kill -9, and a new process",
        "The process is killed after the create. The next one lists, compares, and writes the status.",
        (
            Mark("created", 10, "deployments", facts={"code": "201"}),
            Mark("killed", GAP),
            Mark("listed", 1, "foos", facts={"listed": 1}),
            Mark("got", 8, key=FOO),
            Mark("found", 9, "deployments", FOO, {"found": True}, WORKER),
            Mark("status", 10, "foos", FOO, {"code": "200"}),
            Mark("settled", 12, key=FOO, facts={"again": False}),
        ),
        "A controller starts, and a Foo is created. The server never answers the write of its status.",
        {
            "created": "The worker has created the Deployment. Next it would write the status.",
            "listed": "The new process lists all Foos, and finds the Foo.",
            "got": "The new process's handler receives an add, so the key is queued, and a worker gets it.",
            "found": "The worker finds the Deployment in the cache, so it does not create one.",
            "status": "Only the status is missing, so the worker writes it.",
            "settled": "No work was lost, and none was done twice.",
        },
    ),
    Run(
        "lease",
        "The lease changes hands",
        "The server answers the leader only with errors, so the leader stops. The standby takes over.",
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
        "You see ada, one of two replicas. It takes the lease, and a Foo is created. Later the server "
        "answers ada only with errors.",
        {
            "leads": "ada creates the lease, and is the leader.",
            "refused": "The server answers ada with errors, so ada cannot renew the lease.",
            "waiting": "The Foo changes while there is no leader. bob caches it, but has no workers yet.",
            "taken": "The lease has expired. bob takes it, and is the leader.",
            "got": "Now bob's workers start, and one of them gets the key.",
            "scaled": "The worker scales the Deployment. The change was not lost while there was no leader.",
            "settled": "The worker's own writes come back. bob has nothing left to do, and keeps the lease.",
        },
        shows=("events",),
    ),
    Run(
        "storm",
        "A storm of creates, and what stops it",
        "A Foo is deleted, but the cache still has it. So the plain controller creates its Deployment again "
        "and again.",
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
        "A Foo has its Deployment. The watch of Foos is delayed, so changes reach the cache late.",
        {
            "stale": "The worker reads the cache, which still has the deleted Foo.",
            "created": "So the worker creates the Deployment again, for an owner that no longer exists.",
            "again": "The garbage collector deletes the Deployment, and that event queues the key at once.",
            "unslowed": "Back-off does not slow the storm, because each event queues the key at once.",
            "over": "The storm ends only when the delayed watch delivers the deletion of the Foo.",
            "asked": "The server returns 404: the Foo no longer exists. So the worker creates nothing.",
        },
    ),
)
