"""A plan for a run: the faults, the operator's requests that they strike, and the order of the threads."""

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
    "p": "waits in reconciles",
    "s": "steps",
    "r": "reads",
    "w": "watches",
    "l": "changes of a Lease",
}
"""The name of each kind of place in a report, in the order of the report."""

LATE: Final = "late"
PAUSE_SECONDS: Final = 20.0
SLOW_SECONDS: Final = 10.0
SENT_SECONDS: Final = 5.0
_STRIKE: Final = re.compile(r"([rwslqcp]?)(\d+):([\w-]+)")


class Strike(NamedTuple):
    """
    One fault at one request or event.

    `where` is the kind of the request or event:

        ""  a write
        r   a read, which is a get or one page of a list
        w   the opening of a watch
        s   a user's step
        l   a write that creates, acquires, releases or deletes a Lease
        q   a settled(); the last one is the end of the run
        p   a wait in a reconcile, for example in time.sleep()
        c   at a settled(), an object that the operator created and that an object of its own kinds owns

    `number` counts the requests or events of one kind, from 1, across all of the operator's processes. It
    skips requests for Events and discovery and, except in l, for Leases. Objects (c) are numbered in the
    order of the settled() steps, and by name at each of them.

    `what` is the fault. These end, stop or replace a process:

        crash-before   the process ends before the request, as with kill -9, and another one starts
        crash-after    the process ends after the request, and another one starts
        crash-sent     the process ends while its write is in flight; the server receives the write just
                       before the next process's first write, or after 5 s
        crash-down     the process ends after the write; the next one starts after the users' last step
        crash          at w and p, the process ends; at s, all processes end before the step; at q, all
                       processes end after the cluster has come to rest
        pause          the process stops before the request or in the wait, as with SIGSTOP, for 20 s
        late           the operator starts at a settled(); with 0:late, after the users' last step

    These affect the answer:

        lost             the server executes the request, and then the connection breaks
        never-sent       the connection cannot be opened
        timeout-before   no answer arrives before the request's deadline; the server does not execute it
        timeout-after    no answer arrives before the request's deadline; the server executes it
        timeout          a read receives no answer before its deadline
        403, 404, ...    the server refuses the request with this status

    In these, another client acts before the write or, at c, while the cluster is at rest:

        rival-edit         labels the object
        rival-delete       deletes the object
        rival-recreate     deletes and recreates the object
        rival-finalizer    deletes the object, and holds it with a finalizer for 20 s
        rival-owner        makes another object the object's controller for 20 s
        rival-scale        sets a Deployment's replicas
        rival-takes-name   creates an object with the same name and other values
        rival-drift        changes fields that the operator has set
        rival-lease        deletes the Lease

    These affect the process's open watches or, at w, the watch that is being opened:

        stale      the watches deliver nothing for 30 s
        missed     the watches deliver nothing for 30 s, and lose the events of that time, because their
                   history is gone
        cut        the watches break
        silent     the watches hang until the operator closes them
        expired    the watches end, because their history is gone
        garbled    the watches deliver a garbled line
        twice      the watches deliver each event twice for 30 s
        rewound    the watches end, and for 10 s all reads return an earlier state; at r and w, only the next
                   read returns it

    These need several processes:

        lease-slow     requests for the Lease receive no answer for 30 s
        slow           the answer arrives after 10 s, and a slot that is being released waits for it
        slow-crash     the same, but the process ends 2 s before the answer
        slow-pause     the same, but the process stops 2 s before the answer, and continues 20 s later
        slow-503       the same, but the answer is a refusal
        behind         for 60 s, all reads that do not ask for the newest state return the state before the
                       write
        behind-crash   the same, and the process ends after the write, as with crash-down
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
        """The number of the settled() at which the operator starts; 0 for the end, None for the start."""
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
