"""A plan for a run: which faults strike at which of the operator's requests, and how threads take turns."""

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
Strikes for several processes: at Leases, at writes that are in flight when a Lease is released, and at writes
that the others do not see yet.
"""

AT_REST: Final = ("rival-delete", "rival-drift")
"""Strikes at objects that the operator has made, while nothing else happens."""

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
What can strike at a write, at a read, at the opening of a watch, just before a user's step, at a write that
changes a Lease's holder, at a settled(), at a child there, and where a reconcile waits.
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

    number counts the requests of that sort from 1, over all of the operator's processes, leaving out Events,
    leases and discovery. where: "" = writes, r = reads (a get, or a page of a list), w = openings of a watch,
    s = the users' steps, l = writes that make, acquire, release or delete a Lease. q = settled(), of which
    the last one is the end; c = the objects at a settled() that the operator has made and one of its own
    kinds controls, in the order of their names, first those at the first settled(), then those at the second,
    and so on. p = waits of a reconcile, for example in time.sleep().

    crash-before, crash-after = the process ends there, as by kill -9, and another one starts. crash-sent = it
    ends while the write is in flight; the server receives the write just before the next process's first
    write, or after 5 s. crash-down = it ends after the write, and the next one starts after the users' last
    step. pause = it stops before the write, as by SIGSTOP, and continues with it 20 s later. crash = at
    steps, each process ends; where a watch is opened or a reconcile waits, that process ends; at settled(),
    each process ends once everything has come to rest. lost = the request is executed, and the connection
    breaks; never-sent = there is no connection. timeout-before, timeout-after (at reads: timeout) = no answer
    arrives before the request's deadline; the request was not executed (before) or was (after). A number =
    the server refuses with this status.

    rival-edit = another client labels the object first. rival-delete = it deletes the object; rival-recreate
    = it also makes it again. rival-finalizer = it deletes the object, which has a finalizer that it removes
    20 s later. rival-owner = for 20 s the object has another controller. rival-scale = it sets a Deployment's
    replicas. rival-takes-name = it has made an object with that name, but with a different value in one
    field. rival-drift = it changes a field that the operator has set.

    These affect the process's watches, or the one that is being opened: stale = they deliver nothing for 30
    s; missed = what they hold back in that time is lost, because their history is gone; cut = they break;
    silent = they hang until the operator gives up on them; expired = their history is gone; garbled = a line
    is broken; twice = each watch event arrives twice for 30 s; rewound = they end, and for 10 s all reads see
    the past.

    lease-slow = requests for the Lease get no answer for 30 s. rival-lease = another client deletes the
    Lease. slow = the answer arrives after 10 s, so a slot that is about to leave waits for it. slow-crash,
    slow-pause = the process ends, or stops, 2 s earlier; slow-503 = the answer is a refusal. behind = for 60
    s all reads that do not ask for the newest state see the state before the write; behind-crash = the
    process also ends after the write, as by crash-down.

    late = the operator starts at a settled(); 0:late = it starts after the users' last step.
    """

    number: int
    what: str
    where: Where = ""

    def __str__(self) -> str:
        return f"{self.where}{self.number}:{self.what}"


class Plan(NamedTuple):
    """Strikes, and the seed for the thread order; order 0 = first come, first served."""

    strikes: tuple[Strike, ...] = ()
    order: int = 0

    @classmethod
    def parse(cls, text: str) -> Plan:
        """Return the plan that a text such as `3:crash-after` names. Raises: ValueError."""
        strikes, _, order = text.partition("/")
        found = [_parsed(one) for one in strikes.split(",") if one]
        if None in found or not (order or "0").isdecimal():
            raise ValueError(f"{text!r} is not a plan: 3:crash-after,5:lost/7 is one")
        return cls(tuple(one for one in found if one), int(order or 0))

    def __str__(self) -> str:
        """`3:crash-after,r5:lost/7`."""
        strikes = ",".join(map(str, self.strikes))
        return f"{strikes}/{self.order}" if self.order else strikes

    def at(self, number: int, where: Where = "") -> str:
        """Return the strike at a request, or "" if there is none."""
        found = (one.what for one in self.strikes if (one.number, one.where) == (number, where))
        return next(found, "")

    @property
    def starts_at(self) -> int | None:
        """The settled() at which the operator starts; 0 = at the end, None = before the first step."""
        return next((one.number for one in self.strikes if one.what == LATE), None)


def _parsed(text: str) -> Strike | None:
    """Return one strike, or None if the text is not a strike."""
    match = _STRIKE.fullmatch(text)
    if match is None:
        return None
    where: Where = match[1]  # type: ignore[assignment] # the pattern's
    allowed = KINDS[where] if where or int(match[2]) else (LATE,)
    return Strike(int(match[2]), match[3], where) if match[3] in allowed else None


LATE_PLAN: Final = Plan((Strike(0, LATE),))
