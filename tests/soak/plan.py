"""What happens in a soak, and when: a function of its seed."""

from __future__ import annotations

from random import Random
from typing import Final

from msgspec import Struct

REPLICAS: Final = (1, 2, 3)
FAULTS_A_SECOND: Final = 0.3
CHANGES_A_SECOND: Final = 9.0
ENDING: Final = 0.6
"""In this part of the soak processes are ended. After it they live, so that their memory can be compared."""
ENDS: Final = {"kill": 0, "term": 0, "stop": 18, "outage": 35}
"""How long each lasts, in seconds: longer than a lease, where it is not 0."""
CONNECTIONS: Final = ("reset", "cut", "garbled", "silent", "expired", "broken", "slow")
ANSWERS: Final = ("lost", "never-sent", "409", "410", "429", "500", "503", "504")
FOOS: Final = tuple(f"foo-{number}" for number in range(20))
APPS: Final = tuple(f"app-{number}" for number in range(12))
FOREIGN: Final = FOOS[:3]
"""Somebody else has a Deployment of these names."""


class Fault(Struct, frozen=True):
    """At so many seconds something happens to a replica: for so long, or to so many requests."""

    at: float
    replica: int
    what: str
    seconds: float = 0.0
    count: int = 0


class Change(Struct, frozen=True):
    """At so many seconds a user does something about an object of a name; number is a choice of many."""

    at: float
    what: str
    name: str
    number: int


def faults(seed: int, seconds: float) -> list[Fault]:
    """The faults of a soak, in their order; the first comes when the replicas are at work."""
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
    """What users do: all are created, then changed, deleted and created again, and their children edited."""
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
