"""The recorded runs of the live page: what each is about, and what it must show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from handloop.picture.recording import GAP

WORKER: Final = "worker-0"
"""The only worker of each run."""
PRESENT: Final = object()
"""A fact of any value."""


FOO: Final = "default/example-foo"


class Mark(NamedTuple):
    """A step that a run must show: the nth one of this number, these facts and parts of words."""

    name: str
    step: int
    component: str = ""
    key: str = ""
    facts: Mapping[str, Any] = {}
    thread: str = ""
    nth: int = 1


class Run(NamedTuple):
    """
    One run: its name in addresses, its title, what it is about in one sentence.

    marks come in this order; an address leads to each: `#run=NAME&at=MARK`. opening says, before the first
    step, what was arranged. key is the only one to show at first, "" = all; shows are the page's filters to
    turn on.
    """

    name: str
    title: str
    about: str
    marks: tuple[Mark, ...]
    opening: str
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
    ),
    Run(
        "merge",
        "Seven changes that merge",
        "A Foo changes seven times while the only worker is busy: seven adds, one sync. "
        "Its own write wakes another.",
        (
            Mark("busy", 8, key="default/slow-foo"),
            Mark("queued", 7, key=FOO, facts={"merged": False}),
            Mark("merged", 7, key=FOO, facts={"merged": True}),
            Mark("seventh", 7, key=FOO, facts={"merged": True}, nth=5),
            Mark("got", 8, key=FOO),
            Mark("scaled", 10, "deployments", FOO, {"code": "200"}),
        ),
        "There is one worker. A Foo named slow-foo is created, and the server will take a second to "
        "create its Deployment. Meanwhile example-foo is scaled seven times.",
        key="",
    ),
    Run(
        "in-flight",
        "A change while a worker has the key",
        "The Deployment changes in the middle of a sync: the queue keeps the key, and done() queues it.",
        (
            Mark("got", 8, key=FOO),
            Mark("dirty", 7, key=FOO, facts={"in_flight": True, "merged": False}),
            Mark("again", 12, key=FOO, facts={"again": True}),
            Mark("second", 8, key=FOO),
            Mark("reported", 10, "foos", FOO, {"code": "200"}),
        ),
        "A Foo gets a label, and the server will take a second to answer the write of its status. "
        "Meanwhile its Deployment becomes available.",
    ),
    Run(
        "missing-done",
        "A missing done()",
        "A worker forgets done(): it is free, and no worker gets that key, until done() is called after all.",
        (
            Mark("lost", 11, key=FOO, facts={"forgotten": PRESENT}),
            Mark("stuck", 7, key=FOO, facts={"in_flight": True}),
            Mark("free", 8, key="default/other-foo"),
            Mark("done", 12, key=FOO, facts={"again": True}),
            Mark("got", 8, key=FOO),
        ),
        "A Foo is scaled. At the end of its sync, the worker will leave done() out. It is called after "
        "another Foo was synced.",
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
        ),
        "There are two Foos, and gone-foo gets a label. Then the watch of Foos breaks. The server refuses "
        "the next ones for a moment, in which gone-foo is deleted.",
        key="",
    ),
    Run(
        "failures",
        "Three failures and their back-off",
        "The server refuses three creates: each wait is twice the one before, and a success forgets them.",
        (
            Mark("first", 11, key=FOO, facts={"failures": 1}),
            Mark("second", 11, key=FOO, facts={"failures": 2}),
            Mark("third", 11, key=FOO, facts={"failures": 3}),
            Mark("created", 10, "deployments", facts={"verb": "create", "code": "201"}),
            Mark("forgotten", 11, key=FOO, facts={"forgotten": 3}),
        ),
        "A Foo is created. The server will answer the first three creates of its Deployment with 500.",
    ),
    Run(
        "conflict",
        "A stale cache and its 409",
        "Another writer was faster, and the cache does not know yet: the server refuses the old version.",
        (
            Mark("stale", 9, "foos", FOO, thread=WORKER),
            Mark("conflict", 10, "foos", FOO, {"code": "409"}),
            Mark("retry", 11, key=FOO, facts={"failures": 1}),
            Mark("fresh", 5, "Foo", FOO),
            Mark("written", 10, "foos", FOO, {"code": "200"}),
        ),
        "Another writer has put a label on the Foo. The watch of Foos is late, so the cache has the old "
        "version. Then the Deployment becomes available.",
    ),
    Run(
        "restart",
        "kill -9, and a new process",
        "The process dies between create and status; the next one lists, compares, and writes the rest.",
        (
            Mark("created", 10, "deployments", facts={"code": "201"}),
            Mark("killed", GAP),
            Mark("listed", 1, "foos", facts={"listed": 1}),
            Mark("got", 8, key=FOO),
            Mark("status", 10, "foos", FOO, {"code": "200"}),
        ),
        "A controller starts, and a Foo is created. The server will never answer the write of its status.",
    ),
    Run(
        "lease",
        "The lease changes hands",
        "The leader loses the server and gives up; the standby takes the lease, and its workers begin.",
        (
            Mark("leads", 10, "leases", facts={"verb": "create"}),
            Mark("refused", 10, "leases", facts={"code": "500"}),
            Mark("gone", GAP),
            Mark("waiting", 5, "Foo", FOO),
            Mark("taken", 10, "leases", facts={"code": "200"}),
            Mark("got", 8, key=FOO),
            Mark("scaled", 10, "deployments", FOO, {"code": "200"}),
        ),
        "This is ada, one of two replicas. It takes the lease, and a Foo is created. Later the server "
        "answers it with errors only.",
        shows=("events",),
    ),
    Run(
        "storm",
        "A storm of creates, and what stops it",
        "A Foo is gone, but not in the cache: the plain controller creates its Deployment again and again.",
        (
            Mark("deleted", 5, "Deployment", FOO, {"deleted": True}),
            Mark("stale", 9, "foos", FOO, {"found": True}, WORKER),
            Mark("created", 10, "deployments", facts={"code": "201"}),
            Mark("again", 5, "Deployment", FOO, {"deleted": True}),
            Mark("over", 11, key=FOO, facts={"forgotten": PRESENT}),
            Mark("hardened", GAP),
            Mark("asked", 10, "foos", FOO, {"verb": "get", "code": "404"}),
            Mark("stopped", 12, key=FOO, facts={"again": False}),
        ),
        "A Foo is deleted. The watch of Foos is late, so the cache still has it. The garbage collector "
        "deletes its Deployment at once.",
    ),
)
