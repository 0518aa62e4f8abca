"""The recorded runs of the live page: what each is about, and what it must show."""

from __future__ import annotations

from typing import Final, NamedTuple


class Run(NamedTuple):
    """
    One run: its name in addresses, its title, what it is about in one sentence.

    marks name the steps that it must show; an address leads to each: `#run=NAME&at=MARK`.
    """

    name: str
    title: str
    about: str
    marks: tuple[str, ...]


RUNS: Final = (
    Run(
        "apply",
        "A Foo is applied",
        "One Foo goes through the twelve steps, and gets its Deployment and its status.",
        ("listed", "added", "queued", "got", "read", "created", "status", "settled"),
    ),
    Run(
        "merge",
        "Seven changes that merge",
        "A Foo changes seven times while the only worker is busy: seven adds, one sync.",
        ("queued", "merged", "seventh", "got", "scaled"),
    ),
    Run(
        "in-flight",
        "A change while a worker has the key",
        "The Foo changes in the middle of its sync: the queue keeps its key in dirty, and done() queues it.",
        ("got", "dirty", "again", "second"),
    ),
    Run(
        "missing-done",
        "A missing done()",
        "A worker forgets done(): it is free, and no worker ever gets that key again.",
        ("lost", "stuck", "done", "got"),
    ),
    Run(
        "expired",
        "410 Gone, a new list, and a tombstone",
        "A watch breaks, a Foo is deleted meanwhile, and the server has forgotten the history since.",
        ("broke", "expired", "listed", "tombstone"),
    ),
    Run(
        "failures",
        "Three failures and their back-off",
        "The server refuses three creates: each wait is twice the one before, and a success forgets them.",
        ("first", "second", "third", "created", "forgotten"),
    ),
    Run(
        "conflict",
        "A stale cache and its 409",
        "Another writer was faster, and the cache does not know yet: the server refuses the old version.",
        ("stale", "conflict", "retry", "fresh", "written"),
    ),
    Run(
        "restart",
        "kill -9, and a new process",
        "The process dies between create and status; the next one lists, compares, and writes the rest.",
        ("created", "killed", "listed", "got", "status"),
    ),
    Run(
        "lease",
        "The lease changes hands",
        "The leader loses the server and gives up; the standby takes the lease, and its workers begin.",
        ("leads", "refused", "taken", "got"),
    ),
    Run(
        "storm",
        "A storm of creates, and what stops it",
        "A Foo is gone, but not in the cache: the plain controller creates its Deployment again and again.",
        ("stale", "created", "deleted", "again", "asked", "stopped"),
    ),
)
