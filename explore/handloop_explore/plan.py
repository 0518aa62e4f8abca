"""A run's plan: which faults strike at which of the operator's requests, and in which order threads run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

CRASHES: Final = ("crash-before", "crash-after", "crash-sent", "crash-down")
LOSSES: Final = ("lost", "never-sent", "timeout-before", "timeout-after")
REFUSALS: Final = ("403", "404", "409", "422", "429", "500", "503", "504")
RIVALS: Final = (
    "rival-edit",
    "rival-delete",
    "rival-finalizer",
    "rival-recreate",
    "rival-takes-name",
    "rival-owner",
    "rival-scale",
)
VIEWS: Final = ("stale", "missed", "cut", "silent", "expired", "garbled", "twice", "rewound")
LEASES: Final = ("rival-lease", "lease-slow")
SLOW: Final = ("slow", "slow-crash", "slow-pause", "slow-503", "behind", "behind-crash")
"""
Strikes that need several processes: at Leases, at writes that are in flight when a Lease is released, and at
writes that the other processes do not see immediately.
"""

AT_REST: Final = ("rival-delete", "rival-drift")
"""Strikes at objects that the operator has created, while the cluster is at rest."""

Where: TypeAlias = Literal["", "r", "w", "s", "l", "q", "c", "p"]
WHATS: Final = (*CRASHES, "pause", *LOSSES, *REFUSALS, *RIVALS, *VIEWS)
KINDS: Final[Mapping[Where, tuple[str, ...]]] = {
    "": (*WHATS, *LEASES, *SLOW),
    "r": ("lost", "timeout", "403", "410", "429", "500", "503", "504", "rewound"),
    "w": ("crash", "pause", "lost", "410", "503", *VIEWS),
    "s": ("crash", *VIEWS),
    "l": ("crash-before", "crash-after", "pause", "lost", "never-sent", "409", "503", "rival-lease"),
    "q": ("late", "crash"),
    "c": AT_REST,
    "p": ("crash", "pause"),
}
"""
The faults that can strike at a write, at a read, at the opening of a watch, just before a user's step, at a
write that changes a Lease's holder, at a settled(), at a child at that time, and while a reconcile waits.
"""

PLACES: Final[Mapping[Where, str]] = {
    "": "writes",
    "c": "children at rest",
    "q": "settled()",
    "p": "waits of reconciles",
    "s": "steps",
    "r": "reads",
    "w": "watches",
    "l": "changes of a Lease",
}
"""The names of the places in a report, in the report's order."""

LATE: Final = "late"
PAUSE_SECONDS: Final = 20.0
SLOW_SECONDS: Final = 10.0
SENT_SECONDS: Final = 5.0
_STRIKE: Final = re.compile(r"([rwslqcp]?)(\d+):([\w-]+)")


class Strike(NamedTuple):
    """
    One fault at one request.

    where: "" = a write, r = a read (a get, or a page of a list), w = the opening of a watch, s = a user's
    step, l = a write that creates, acquires, releases or deletes a Lease, q = a settled(), the last of which
    is the end, p = a wait in a reconcile, for example in time.sleep(), c = an object that exists at a
    settled(), that the operator has created, and that one of its own kinds owns. number counts the
    requests or events of this sort from 1, over all of the operator's processes, without requests for Events,
    Leases and discovery. Objects (c) are numbered by settled(), and then by name.

    crash-before, crash-after = the process ends before or after the request, as with kill -9, and another one
    starts. crash-sent = it ends while the write is in flight, and the server receives the write just before
    the next process's first write, or after 5 s. crash-down = it ends after the write, and the next one
    starts after the users' last step. pause = it stops before the write, as with SIGSTOP, and continues 20 s
    later. crash = at a step, every process ends; where a watch is opened or a reconcile waits, its process
    ends; at a settled(), every process ends after the cluster has come to rest. lost = the request is
    executed, and the connection breaks. never-sent = the connection cannot be opened. timeout-before,
    timeout-after (at reads: timeout) = no answer arrives before the request's deadline; the server has not
    executed the request (before), or has executed it (after). A number = the server refuses with this status.

    rival-edit = another client first labels the object. rival-delete = it deletes the object. rival-recreate
    = it deletes and recreates the object. rival-finalizer = it deletes the object, which has this client's
    finalizer for 20 s more. rival-owner = the object has another controller for 20 s. rival-scale = another
    client sets a Deployment's replicas. rival-takes-name = it has created an object with that name and a
    different value in one field. rival-drift = it changes a field that the operator has set.

    These affect the process's watches, or the one that is being opened. stale = they deliver nothing for 30
    s. missed = they also lose the events of that time, because their history is gone. cut = they break.
    silent = they hang until the operator closes them. expired = their history is gone. garbled = a line is
    garbled. twice = each watch event arrives twice for 30 s. rewound = they end, and for 10 s all reads
    return an earlier state.

    lease-slow = requests for the Lease receive no answer for 30 s. rival-lease = another client deletes the
    Lease. slow = the answer arrives after 10 s, and a slot that is being released waits for it. slow-crash,
    slow-pause = the process ends or stops 2 s before the answer. slow-503 = the answer is a refusal. behind =
    for 60 s, all reads that do not ask for the newest state return the state before the write. behind-crash =
    the process also ends after the write, as with crash-down.

    late = the operator starts at a settled(). 0:late = it starts after the users' last step.
    """

    number: int
    what: str
    where: Where = ""

    def __str__(self) -> str:
        return f"{self.where}{self.number}:{self.what}"


class Plan(NamedTuple):
    """Strikes, and a seed for the threads' order. If `order` is 0, threads run first come, first served."""

    strikes: tuple[Strike, ...] = ()
    order: int = 0

    @classmethod
    def parse(cls, text: str) -> Plan:
        """Return the plan for a text such as `3:crash-after`. Raises: ValueError if it is not a plan."""
        strikes, _, order = text.partition("/")
        found = [_parsed(one) for one in strikes.split(",") if one]
        if None in found or not (order or "0").isdecimal():
            raise ValueError(f"{text!r} is not a plan such as 3:crash-after,5:lost/7")
        return cls(tuple(one for one in found if one), int(order or 0))

    def __str__(self) -> str:
        """`3:crash-after,r5:lost/7`."""
        strikes = ",".join(map(str, self.strikes))
        return f"{strikes}/{self.order}" if self.order else strikes

    def at(self, number: int, where: Where = "") -> str:
        """Return the strike at a request, or "" if the plan does not strike it."""
        found = (one.what for one in self.strikes if (one.number, one.where) == (number, where))
        return next(found, "")

    @property
    def starts_at(self) -> int | None:
        """The number of the settled() at which the operator starts; 0 = the end, None = the beginning."""
        return next((one.number for one in self.strikes if one.what == LATE), None)


def _parsed(text: str) -> Strike | None:
    """Return the strike that a text describes, or None if it does not describe one."""
    match = _STRIKE.fullmatch(text)
    if match is None:
        return None
    where: Where = match[1]  # type: ignore[assignment] # the pattern's
    allowed = KINDS[where] if where or int(match[2]) else (LATE,)
    return Strike(int(match[2]), match[3], where) if match[3] in allowed else None


LATE_PLAN: Final = Plan((Strike(0, LATE),))
