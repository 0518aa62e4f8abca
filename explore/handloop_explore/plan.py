"""A plan for a run: which fault strikes at which request of the operator, and how threads take turns."""

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
Strikes for several processes: at Leases, at writes that are under way when a Lease is released, and at
writes that the others do not see yet.
"""

AT_REST: Final = ("rival-delete", "rival-drift")
"""At objects that the operator has made, while nothing else happens."""

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
What can strike at a write, a read, the opening of a watch, just before a user's step, at a write by
which a Lease gets another holder, at a settled(), at a child there, and where a reconcile waits.
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
"""The names of the places in a report, in its order."""

LATE: Final = "late"
PAUSE_SECONDS: Final = 20.0
SLOW_SECONDS: Final = 10.0
SENT_SECONDS: Final = 5.0
_STRIKE: Final = re.compile(r"([rwslqcp]?)(\d+):([\w-]+)")


class Strike(NamedTuple):
    """
    One fault at one request.

    number counts the requests of that sort from 1, in all processes of the operator, without Events,
    leases and discovery. where: "" = writes, r = reads (a get, or a page of a list), w = openings of a
    watch, s = steps of the users, l = writes by which a Lease is made, taken, given up or deleted. q =
    settled(), of which the end is the last one; c = the objects there that are controlled by one of the
    operator's own kinds and made by it, in the order of their names, at the first settled(), then at the
    second, and so on. p = waits of a reconcile, such as for time.sleep().

    crash-before, crash-after: the process ends there, as by kill -9, and another one starts. crash-sent =
    it ends while the write is under way: the server has it just before the first write of the next one,
    or after 5 s. crash-down = it ends after the write, and the next one starts after the last step of the
    users. pause = it stops before the write, as by SIGSTOP, and continues with it 20 s later. crash, at
    steps: each process ends; where a watch is opened, or a reconcile waits: that process; at settled():
    each process ends after all has come to rest. lost = carried out, and the connection breaks; never-
    sent = there was no connection. timeout-before, timeout-after (at reads: timeout) = no answer comes
    until the deadline of the request, which is not, or is, carried out. A number = the server refuses
    with it.

    rival-edit = another client labels the object first. rival-delete, rival-recreate = it deletes it, and
    makes it again. rival-finalizer = it deletes it under a finalizer, which it removes 20 s later. rival-
    owner = for 20 s the controller of the object is another one. rival-scale = it sets the replicas of a
    Deployment. rival-takes-name = it has made an object of that name, with another value in one field.
    rival-drift = it changes a field that the operator has set.

    Of the watches of the process, or of the one that is opened: stale = they bring nothing for 30 s;
    missed = nor do they after that, since their history is gone; cut = they break; silent = they hang
    until the operator gives them up; expired = their history is gone; garbled = a line is broken; twice =
    each watch event comes two times for 30 s; rewound = they end, and for 10 s all reads see the past.

    lease-slow = requests for the Lease get no answer for 30 s. rival-lease = another client deletes it.
    slow = the answer comes after 10 s: a slot that is to leave waits for it. slow-crash, slow-pause: the
    process ends, or stops, 2 s before; slow-503 = it is a refusal. behind = for 60 s all reads that do
    not ask for the newest see what was before the write; behind-crash: and after it the process ends, as
    by crash-down.

    late = the operator starts at a settled(); 0:late = after the last step of the users.
    """

    number: int
    what: str
    where: Where = ""

    def __str__(self) -> str:
        return f"{self.where}{self.number}:{self.what}"


class Plan(NamedTuple):
    """Strikes, and the seed for the order of threads; order 0 = first come, first served."""

    strikes: tuple[Strike, ...] = ()
    order: int = 0

    @classmethod
    def parse(cls, text: str) -> Plan:
        """Return the plan of a line that replays it. Raises: ValueError."""
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
        """Return the strike at a request, "" = none."""
        found = (one.what for one in self.strikes if (one.number, one.where) == (number, where))
        return next(found, "")

    @property
    def starts_at(self) -> int | None:
        """The settled() at which the operator starts, 0 = the end, None = before the first step."""
        return next((one.number for one in self.strikes if one.what == LATE), None)


def _parsed(text: str) -> Strike | None:
    """One strike, None = the text is not a strike."""
    match = _STRIKE.fullmatch(text)
    if match is None:
        return None
    where: Where = match[1]  # type: ignore[assignment] # the pattern's
    allowed = KINDS[where] if where or int(match[2]) else (LATE,)
    return Strike(int(match[2]), match[3], where) if match[3] in allowed else None


LATE_PLAN: Final = Plan((Strike(0, LATE),))
