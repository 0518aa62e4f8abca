"""
The Foo controller under plans of faults: every plan has the same end.

A plan is drawn from a seed: some faults before each step of a story. The threads are real, so a plan repeats
the faults, not the exact schedule. A plan that fails prints the line that runs it again; FAULT_SEEDS
sets how many are drawn.
"""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import msgspec
import pytest

from handloop.testing.eventually import PAUSE_SECONDS
from handloop.testing.eventually import eventually as until
from handloop_sandbox.faults.fault import AnyFault, Fault
from handloop_sandbox.faults.injection import Injection
from support.servers.cluster import Object
from support.servers.faulty_cluster import (
    DEPLOYMENTS,
    FOOS,
    OURS,
    SECONDS,
    FaultyCluster,
    faulty_cluster,
    foo_process,
)

Plan = list[list[dict[str, Any]]]
Step = Callable[[FaultyCluster], object]

_FAULTS: Final[Any] = msgspec.json.Decoder(list[list[AnyFault]])
# not "reverse": cut off after the newest event it loses older ones for good, which no client can know
_MENU: Final[tuple[dict[str, Any], ...]] = (
    {"fault": "error", "code": 500, "verbs": ["create", "update", "patch"]},
    {"fault": "error", "code": 503, "retryAfter": 1},
    {"fault": "error", "code": 429, "retryAfter": 1},
    {"fault": "error", "code": 500, "verbs": ["list", "watch"]},
    {"fault": "conflict"},
    {"fault": "deny", "resources": ["deployments"]},
    {"fault": "deny", "resources": ["foos/status", "events"]},
    {"fault": "latency", "delaySeconds": 0.05, "jitterSeconds": 0.1},
    {"fault": "lose-answer"},
    {"fault": "lose-answer", "executed": False},
    {"fault": "lose-answer", "verbs": ["list", "watch"]},
    {"fault": "silence"},
    {"fault": "silence", "verbs": ["patch", "update", "create"]},
    {"fault": "drop-watch"},
    {"fault": "drop-watch", "how": "cut", "afterEvents": 1},
    {"fault": "drop-watch", "how": "reset"},
    {"fault": "delay-watch", "delaySeconds": 0.2},
    {"fault": "distort-watch", "how": "repeat"},
    {"fault": "distort-watch", "how": "garble"},
    {"fault": "expire"},
    {"fault": "expire", "asStatus": True},
    {"fault": "lag"},
    {"fault": "lag", "changes": 2, "consistentReads": True},
)
_STORY: Final[tuple[Step, ...]] = (
    lambda c: c.create_foo("scaled", replicas=1),
    lambda c: c.create_foo("renamed", replicas=2),
    lambda c: c.change(FOOS, "scaled", {"spec": {"replicas": 3}}),
    lambda c: c.create_foo("gone", replicas=1),
    lambda c: c.change(FOOS, "renamed", {"spec": {"deploymentName": "another"}}),
    lambda c: c.delete(FOOS, "gone"),
    lambda c: c.change(FOOS, "scaled", {"spec": {"replicas": 2}}),
)
_EXPECTED: Final = {"scaled": ("scaled", 2), "renamed": ("another", 2)}
_SEEDS: Final = range(int(os.environ.get("FAULT_SEEDS", "8")))
_MOMENT_SECONDS: Final = 0.4


def _plan(seed: int) -> Plan:
    """Up to three faults before each step, each for a few requests or a short time."""
    chance = random.Random(seed)
    return [[_bounded(fault, chance) for fault in chance.sample(_MENU, chance.randint(0, 3))] for _ in _STORY]


def _bounded(fault: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    requests, seconds = chance.randint(1, 3), round(chance.uniform(0.1, 0.6), 2)
    bound: dict[str, Any] = chance.choice([{"count": requests}, {"seconds": seconds}])
    return {**fault, **bound, "skip": chance.choice([0, 0, 1]), "userAgent": OURS["user_agent"]}


def _plans() -> list[Any]:
    given = os.environ.get("FAULT_PLAN")
    if given:
        return [pytest.param(json.loads(given), id="given")]
    return [pytest.param(_plan(seed), id=f"seed-{seed}") for seed in _SEEDS]


def _line(plan: Plan) -> str:
    return f"FAULT_PLAN='{json.dumps(plan)}' python -m pytest tests/faults/test_foo_plans.py"


def _is_settled(cluster: FaultyCluster) -> bool:
    """Every Foo has its Deployment, and the status equals the Deployment's."""
    foos, deployments = cluster.list(FOOS), cluster.list(DEPLOYMENTS)
    return foos.keys() == _EXPECTED.keys() and all(
        _is_in_step(foos[name], deployments.get(wanted), replicas)
        for name, (wanted, replicas) in _EXPECTED.items()
    )


def _is_in_step(foo: Object, deployment: Object | None, replicas: int) -> bool:
    return (
        deployment is not None
        and deployment["spec"]["replicas"] == replicas
        and [owner["uid"] for owner in deployment["metadata"]["ownerReferences"]] == [foo["metadata"]["uid"]]
        and deployment.get("status", {}).get("availableReplicas") == replicas
        and foo.get("status", {}).get("availableReplicas") == replicas
    )


def _let_them_happen(injections: list[Injection]) -> None:
    """Give each a moment to hit something; not all do, and either way is part of the test."""
    ends_at = time.monotonic() + _MOMENT_SECONDS
    pause = threading.Event()
    while any(not injection.hits for injection in injections) and time.monotonic() < ends_at:
        pause.wait(PAUSE_SECONDS)


def _run(plan: Plan) -> None:
    faults: list[list[Fault]] = _FAULTS.decode(json.dumps(plan))
    with faulty_cluster(seed=1) as cluster, foo_process(cluster):
        for before, step in zip(faults, _STORY, strict=True):
            injections = [cluster.faults.inject(fault) for fault in before]
            step(cluster)
            _let_them_happen(injections)
        until(lambda: _is_settled(cluster), "settled", seconds=SECONDS)
        # the rest of the renamed Foo's first Deployment still has its owner: nothing else is there
        assert set(cluster.list(DEPLOYMENTS)) <= {"scaled", "another", "renamed"}


@pytest.mark.parametrize("plan", _plans())
def test_every_plan_ends_in_the_same_state(plan: Plan) -> None:
    """Every fault ends by itself, and then children match the Foos."""
    try:
        _run(plan)
    except AssertionError as error:
        error.add_note(f"again: {_line(plan)}")
        raise


def test_a_plan_is_a_function_of_its_seed() -> None:
    """The same seed draws the same faults, another one others; the printed line holds all of it."""
    assert _plan(3) == _plan(3) != _plan(4)
    text = _line(_plan(3)).split("'")[1]
    assert json.loads(text) == _plan(3)
    assert len(_FAULTS.decode(text)) == len(_STORY)


def test_a_failing_plan_prints_how_to_run_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line is a note on the failure, in the report."""

    def fail(_plan: Plan) -> None:
        raise AssertionError("not settled")

    monkeypatch.setattr(f"{__name__}._run", fail)
    with pytest.raises(AssertionError) as failure:
        test_every_plan_ends_in_the_same_state(_plan(0))
    assert failure.value.__notes__ == [f"again: {_line(_plan(0))}"]
