from __future__ import annotations

import pytest

from handloop.apis.grammar.shard_selector import slot_of_namespace
from soak import shards
from soak.record import Life, Record
from soak.server_log import Entry
from soak.test_judge import A, B, entry

SPACE = shards.SPACES[0]
OWN, OTHER = (
    slot_of_namespace(SPACE, shards.SLOTS),
    (slot_of_namespace(SPACE, shards.SLOTS) + 1) % shards.SLOTS,
)


def lease(agent: str, at: float, slot: int = OWN) -> Entry:
    """A renewal of a slot's Lease."""
    name = f"soak-slot-{slot}-of-{shards.SLOTS}"
    return entry(agent, "update", "leases", at, name=name, holder_identity="me")


def placed(one: Entry) -> Entry:
    """The same, in a namespace."""
    one.object_ref.namespace = SPACE
    return one


def write(agent: str, at: float, replicas: int = 2) -> Entry:
    """A replica writes a Deployment."""
    return placed(entry(agent, "patch", "deployments", at, replicas=replicas))


def change(at: float, replicas: int = 2) -> Entry:
    """A user changes a Foo."""
    return placed(entry("kubectl", "patch", "foos", at, replicas=replicas))


@pytest.mark.parametrize(
    ("number", "good", "bad"),
    [
        (0, [lease(A, 1), write(A, 2)], [lease(A, 1, OTHER), write(A, 2)]),
        (0, [lease(A, 1), lease(B, 2, OTHER), write(A, 3)], [lease(A, 1), lease(B, 2), write(A, 3)]),
        (0, [lease(A, 1), write(A, 1 + shards.LEASE_SECONDS)], [lease(A, 1), write(A, 9)]),
        (1, [change(1), write(A, 2)], [change(1), write(A, 2, replicas=3), write(A, 20)]),
        (1, [change(1), change(19, 3), write(A, 20, 3)], [change(1), write(A, 20)]),
    ],
    ids=["another-slot", "taken", "over", "another-state", "late"],
)
def test_the_log_tells(number: int, good: list[Entry], bad: list[Entry]) -> None:
    """A write without the slot's Lease, and a change that is served late, are found; the others are not."""
    record = Record(1, 0.0, 0.0, lives=[Life(A, 0.0, code=0)])
    found = [list(shards.verdicts(record, log))[number].wrong for log in (good, bad)]
    assert [bool(wrong) for wrong in found] == [False, True], found
