"""Plans the faults and changes of a soak, with their times, from its seed."""

from __future__ import annotations

from random import Random
from typing import Final

from msgspec import Struct

REPLICAS: Final = (1, 2, 3)
FAULTS_A_SECOND: Final = 0.3
CHANGES_A_SECOND: Final = 9.0
ENDING: Final = 0.6
"""The share of the soak in which processes are ended. Later, they keep running, to compare their memory."""
ENDS: Final = {"kill": 0, "term": 0, "stop": 18, "outage": 35}
"""The faults that end or stop a process, with their seconds. Those that last outlast a lease."""
CONNECTIONS: Final = ("reset", "cut", "garbled", "silent", "expired", "broken", "slow")
ANSWERS: Final = ("lost", "never-sent", "409", "410", "429", "500", "503", "504")
FOOS: Final = tuple(f"foo-{number}" for number in range(20))
APPS: Final = tuple(f"app-{number}" for number in range(12))
FOREIGN: Final = FOOS[:3]
"""Names for which somebody else has already created a Deployment."""


class Fault(Struct, frozen=True):
    """
    A fault that strikes a replica. at: seconds since the beginning.

    seconds: how long it lasts; count: how many requests it strikes.
    """

    at: float
    replica: int
    what: str
    seconds: float = 0.0
    count: int = 0


class Change(Struct, frozen=True):
    """
    A user's change of the object with a name. at: seconds since the beginning.

    number: a random number, from which the new value is derived.
    """

    at: float
    what: str
    name: str
    number: int


def faults(seed: int, seconds: float) -> list[Fault]:
    """Return a soak's faults, by time. The first one strikes when the replicas have begun to work."""
    chance = Random(seed)
    moments = sorted(chance.uniform(0.03, 1.0) * seconds for _ in range(round(FAULTS_A_SECOND * seconds)))
    return [_fault(at, chance, ends=at < ENDING * seconds) for at in moments]


def _fault(at: float, chance: Random, *, ends: bool) -> Fault:
    replica = chance.choice(REPLICAS)
    if ends and chance.random() < 0.15:  # some forty of five hundred
        what = chance.choice(tuple(ENDS))
        return Fault(at, replica, what, ENDS[what])
    what = chance.choice(CONNECTIONS + ANSWERS)
    if what in ("broken", "slow"):
        return Fault(at, replica, what, seconds=chance.uniform(1, 5))
    return Fault(at, replica, what, count=chance.randint(1, 4) if what in ANSWERS else 0)


_OF_OWNERS: Final = ("create", "change", "change", "change", "delete")
_OF_CHILDREN: Final = ("label", "label", "label", "scale", "scale", "delete-child")


def changes(seed: int, seconds: float) -> list[Change]:
    """Return the changes, in which users create, change, delete and recreate objects, and edit children."""
    chance = Random(seed)
    there: set[str] = set()
    found = []
    for number in range(round(CHANGES_A_SECOND * seconds)):
        name = chance.choice(FOOS + APPS)
        what = chance.choice(_OF_OWNERS + _OF_CHILDREN * 2)
        if name not in there:
            what = "create"
            there.add(name)
        elif what == "create":
            what = "change"
        elif what == "delete":
            there.remove(name)
        found.append(Change(number / CHANGES_A_SECOND, what, name, chance.randrange(1000)))
    return found
