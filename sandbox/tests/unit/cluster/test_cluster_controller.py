from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from handloop_sandbox.cluster.cluster_controller import (
    NAME_SUFFIX_ALPHABET,
    Pace,
    Runner,
    Step,
    View,
    Write,
    new_name,
)
from handloop_sandbox.storage.catalog import Catalog
from handloop_sandbox.storage.store import Store
from handloop_sandbox.storage.stored import Change, ChangeType
from handloop_sandbox.storage.transaction import Transaction
from handloop_sandbox.wire.resource import GroupResource
from handloop_sandbox.wire.status import Status

_KIND = GroupResource("", "configmaps")
_OTHER = GroupResource("", "secrets")


class _Recorder:
    """Remembers its steps; writes and wakes on command."""

    name = "recorder"

    def __init__(self, *, interests: frozenset[GroupResource] | None = None) -> None:
        self.interests = interests
        self.steps: list[list[Change]] = []
        self.answers: list[Step] = []
        self.refusals: list[Status] = []

    def step(self, view: View, changes: Sequence[Change], now: float) -> Step:
        self.steps.append(list(changes))
        return self.answers.pop(0) if self.answers else Step()

    def refused(self, write: Write, status: Status, now: float) -> None:
        self.refusals.append(status)


def _change(store: Store, name: str, kind: GroupResource = _KIND) -> tuple[Change, ...]:
    transaction = Transaction(store)
    transaction.put(kind, {"apiVersion": "v1", "kind": "X", "metadata": {"name": name}})
    store.commit(transaction.changes)
    return tuple(transaction.changes)


def _run(runner: Runner, store: Store, now: float = 0.0, refusal: Status | None = None) -> list[Write]:
    done: list[Write] = []

    def apply(_: str, write: Write) -> Status | None:
        done.append(write)
        return refusal

    runner.run(lambda: View(store, Catalog(()), random.Random(1)), now, apply)
    return done


def test_the_first_step_shows_everything_there_is(store: Store) -> None:
    """A controller starts with an ADDED change for every object."""
    _change(store, "a")
    _change(store, "b", _OTHER)
    controller = _Recorder()
    runner = Runner([controller])
    runner.start(store)
    _run(runner, store)
    assert [(change.type, change.name) for change in controller.steps[0]] == [
        (ChangeType.ADDED, "a"),
        (ChangeType.ADDED, "b"),
    ]


def test_rounds_can_be_counted(store: Store) -> None:
    """One round steps each controller once, and next_wake shows that more is due."""
    controller = _Recorder()
    controller.answers = [Step(next_wake=-1.0), Step(next_wake=-1.0), Step()]
    runner = Runner([controller])
    runner.start(store)
    for steps in (1, 2):
        runner.run(lambda: View(store, Catalog(()), random.Random(1)), 0.0, lambda _, __: None, rounds=1)
        assert len(controller.steps) == steps
        assert runner.next_wake() == -1.0
    _run(runner, store)
    assert len(controller.steps) == 3


def test_changes_come_in_batches_and_by_interest(store: Store) -> None:
    """Between steps changes collect; a controller gets those of the collections it asked for."""
    some, every = _Recorder(interests=frozenset([_OTHER])), _Recorder()
    runner = Runner([some, every])
    runner.committed(_change(store, "a"))
    runner.committed(_change(store, "b", _OTHER))
    _run(runner, store)
    assert [[change.name for change in step] for step in some.steps] == [["b"]]
    assert [[change.name for change in step] for step in every.steps] == [["a", "b"]]
    _run(runner, store)
    assert len(every.steps) == 1


def test_a_controller_is_stepped_when_it_wants_to_wake(store: Store) -> None:
    """next_wake is honoured without any change, and has the time when the runner is due."""
    controller = _Recorder()
    controller.answers = [Step(next_wake=10.0)]
    runner = Runner([controller])
    assert runner.next_wake() is None
    runner.start(store)
    _run(runner, store)
    assert runner.next_wake() == 10.0
    _run(runner, store, now=9.0)
    assert len(controller.steps) == 1
    _run(runner, store, now=10.0)
    assert controller.steps[1] == []
    assert runner.next_wake() is None


def test_writes_are_carried_out_and_refusals_come_back(store: Store) -> None:
    """Each write is applied in order; the controller learns of each refusal."""
    controller = _Recorder()
    writes = [Write(verb="delete", group_resource=_KIND, namespace="", name=name) for name in "ab"]
    controller.answers = [Step(writes)]
    runner = Runner([controller])
    runner.start(store)
    refusal: Status = {"code": 404, "message": "no"}
    assert [write.name for write in _run(runner, store, refusal=refusal)] == ["a", "b"]
    assert controller.refusals == [refusal, refusal]


def test_a_controller_that_never_rests_does_not_hang_the_runner() -> None:
    """A controller that is always due is stepped a bounded number of times."""
    controller = _Recorder()
    controller.answers = [Step(next_wake=0.0)] * 50
    runner = Runner([controller], max_rounds=10)
    runner.start(Store())
    _run(runner, Store())
    assert len(controller.steps) == 10
    assert runner.next_wake() == 0.0


def test_generated_names() -> None:
    """A name is the prefix, cut to 58 characters, and five characters of the alphabet; a seed repeats it."""
    name = new_name("web-", random.Random(3))
    assert name == new_name("web-", random.Random(3))
    assert name.startswith("web-")
    assert set(name.removeprefix("web-")) <= set(NAME_SUFFIX_ALPHABET)
    assert len(new_name("x" * 100, random.Random(3))) == 63
    assert View(Store(), Catalog(()), random.Random(3)).new_name("web-") == name


def test_speed_divides_every_duration() -> None:
    """At speed 4 ten nominal seconds take 2.5."""
    assert Pace(4.0).seconds(10.0) == 2.5


def test_jitter_stays_within_its_range_and_follows_the_seed() -> None:
    """Jitter varies a duration by 0.9 to 1.6, the same way for the same seed."""
    pace = Pace(2.0)
    first = [pace.jittered(1.0, random.Random(seed)) for seed in range(200)]
    again = [pace.jittered(1.0, random.Random(seed)) for seed in range(200)]
    assert first == again
    assert all(0.45 <= seconds <= 0.8 for seconds in first)
    assert max(first) - min(first) > 0.3


@pytest.mark.parametrize("speed", [0.0, -1.0, float("nan")])
def test_speed_must_be_positive(speed: float) -> None:
    """A speed that would stop or turn time is refused."""
    with pytest.raises(ValueError, match="above 0"):
        Pace(speed)
