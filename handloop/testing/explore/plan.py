"""What is done to a run: which fault strikes at which write of the operator, and how threads take turns."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

CRASHES: Final = ("crash-before", "crash-after")
REPLIES: Final = ("lost", "never-sent", "409", "429", "500", "503", "504")
RIVALS: Final = ("rival-edit", "rival-delete", "rival-recreate", "rival-takes-name")
VIEWS: Final = ("stale", "cut", "silent", "expired")
WHATS: Final = (*CRASHES, *REPLIES, *RIVALS, *VIEWS)
LATE: Final = "late"
_STRIKE: Final = re.compile(r"(\d+):([\w-]+)")


class Strike(NamedTuple):
    """
    One fault at one write.

    write counts the operator's writes from 1, in all its processes, without Events and leases.
    what: crash-before, crash-after: the process ends there, as by kill -9, and another one starts.
    lost = carried out, and no answer; never-sent = not carried out. A number = the server refuses with it.
    rival-edit = another client labels the object first; rival-delete, rival-recreate = deletes it, and makes
    it again; rival-takes-name = has made an object of that name. stale = the operator's watches bring
    nothing for 30 s; cut = they break; silent = they hang until the operator gives them up; expired = their
    history is gone. late, at 0 alone = the operator starts after the last step of the users.
    """

    write: int
    what: str

    def __str__(self) -> str:
        return f"{self.write}:{self.what}"


class Plan(NamedTuple):
    """Strikes, and the seed of the order of threads; order 0 = first come, first served."""

    strikes: tuple[Strike, ...] = ()
    order: int = 0

    @classmethod
    def parse(cls, text: str) -> Plan:
        """The plan of a line that replays it. Raises: ValueError."""
        strikes, _, order = text.partition("/")
        found = [_STRIKE.fullmatch(one) for one in strikes.split(",") if one]
        if not all(match and match[2] in (*WHATS, LATE) for match in found) or not (order or "0").isdecimal():
            raise ValueError(f"{text!r} is no plan: 3:crash-after,5:lost/7 is one")
        return cls(tuple(Strike(int(one[1]), one[2]) for one in found if one), int(order or 0))

    def __str__(self) -> str:
        """`3:crash-after,5:lost/7`."""
        strikes = ",".join(map(str, self.strikes))
        return f"{strikes}/{self.order}" if self.order else strikes

    def at(self, write: int) -> str:
        """What strikes at a write, "" = nothing."""
        return next((strike.what for strike in self.strikes if strike.write == write), "")


LATE_PLAN: Final = Plan((Strike(0, LATE),))
