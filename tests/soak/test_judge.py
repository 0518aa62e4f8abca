from __future__ import annotations

from collections.abc import Callable

import pytest

from soak import judge
from soak.judge import Evidence, Finding
from soak.plan import FOREIGN, Fault
from soak.record import Life, Record, Sample, Struck
from soak.server_log import Answer, Entry, Metadata, Reference, Spec, Stored
from soak.users import EDITED

A, B = "soak/1.1", "soak/2.1"


def entry(
    agent: str, verb: str, resource: str, at: float, *, code: int = 200, name: str = "foo-9", **stored: object
) -> Entry:
    """A request that took a tenth of a second, and left a version of its time."""
    plural, _, subresource = resource.partition("/")
    metadata = {"uid": "u", "resource_version": str(int(at * 10))} | {
        key: stored.pop(key) for key in ("labels", "owner_references", "uid") if key in stored
    }
    obj = Stored("", Metadata(name, **metadata), Spec(**stored))  # type: ignore[arg-type] # as the API has them
    found = Entry(
        verb, "ResponseComplete", "", "", agent, Reference(plural, name, "", subresource), Answer(code), obj
    )
    found.agent, found.began, found.ended = agent if agent.startswith("soak") else "", at, at + 0.1
    return found


def lease(agent: str, at: float, holder: str = "me") -> Entry:
    """A renewal."""
    return entry(agent, "update", "leases", at, name="soak", holder_identity=holder)


def write(agent: str, at: float, **more: object) -> Entry:
    """A write of a replica."""
    return entry(agent, "patch", "deployments", at, **more)  # type: ignore[arg-type] # as entry


OWNED = {"owner_references": [{"uid": "gone"}]}
DELETED = (
    entry("kubectl", "create", "foos", 1, uid="gone"),
    entry("kubectl", "delete", "foos", 2, uid="gone"),
)
SCALED = entry("kubectl", "create", "myapps", 1, name="app-1", auto_scaling={"enabled": True})
SET_TO_3 = entry("kubectl", "patch", "deployments/scale", 3, name="app-1", replicas=3)
LABELLED = entry("kubectl", "patch", "deployments", 3, labels={EDITED: "7"})


@pytest.mark.parametrize(
    ("judged", "good", "bad"),
    [
        (judge.the_lease_is_held, [lease(A, 1), write(A, 2)], [write(A, 1)]),
        (
            judge.the_lease_is_held,
            [lease(A, 1), write(A, 2), lease(B, 20), write(A, 21, code=409)],
            [lease(A, 1), lease(B, 20), write(A, 21)],
        ),
        (judge.the_lease_is_held, [lease(A, 1), write(A, 11)], [lease(A, 1), write(A, 17)]),
        (
            judge.the_lease_is_held,
            [lease(A, 1), write(A, 2), lease(A, 3, "")],
            [lease(A, 1), lease(A, 3, ""), write(A, 4)],
        ),
        (judge.one_worker_has_a_name, [write(A, 1), write(A, 1.2)], [write(A, 1), write(A, 1.05)]),
        (judge.others_take_over, [lease(A, 1), lease(B, 20)], [lease(A, 1), lease(B, 30)]),
        (judge.foreign_fields_live, [LABELLED, write(A, 4, labels={EDITED: "7"})], [LABELLED, write(A, 4)]),
        (
            judge.foreign_fields_live,
            [LABELLED, write(A, 4, uid="another")],
            [LABELLED, write(A, 4, labels={})],
        ),
        (
            judge.foreign_fields_live,
            [SCALED, *(write(A, at, name="app-1", replicas=3) for at in (2, 300)), SET_TO_3],
            [SCALED, *(write(A, at, name="app-1", replicas=4) for at in (2, 300)), SET_TO_3],
        ),
        (
            judge.nothing_is_made_for_the_gone,
            [*DELETED, *(write(A, at, code=201, **OWNED) for at in range(3, 8))],
            [*DELETED, *(write(A, at, code=201, **OWNED) for at in range(3, 9))],
        ),
        (judge.foreign_objects_are_left_alone, [write(A, 1)], [write(A, 1, name=FOREIGN[0])]),
        (judge.it_is_quiet_in_the_end, [write(A, 99)], [write(A, 150)]),
    ],
)
def test_what_the_servers_log_tells(
    judged: Callable[[Evidence], Finding], good: list[Entry], bad: list[Entry]
) -> None:
    """Each judge passes what may be, and finds what must not be."""
    record = Record(1, 60.0, 0.0, ended=90.0, settled=100.0, quiet_until=170.0)
    assert judged(Evidence(record, good)).wrong == []
    assert len(judged(Evidence(record, bad)).wrong) == 1


def test_what_the_record_tells() -> None:
    """Each judge of the record passes what may be, and finds what must not be."""
    life = Life(A, 0.0, 50.0, code=0, asked_to_stop=49.0)
    good = Record(
        1, 60.0, 0.0, ended=90.0, settled=100.0, lives=[life], outages=[(30.0, 120)], silences=[75.1]
    )
    good.cached = {"replica 1/foos": 2, "foos": 2}
    lost = Life(A, 0.0, 90.0, code=2, asked_to_stop=49.0, tracebacks=["Traceback"])
    bad = Record(
        1, 60.0, 0.0, ended=90.0, settled=300.0, lives=[lost], outages=[(30.0, 121)], silences=[79.0]
    )
    bad.cached = {"replica 1/foos": 1, "foos": 2}
    judges = {
        judge.caches_are_as_the_server: 1,
        judge.it_converges: 1,
        judge.outages_are_endured_gently: 1,
        judge.it_stops_when_asked: 1,
        judge.silence_is_noticed: 1,
        judge.processes_end_for_a_reason: 2,
    }
    assert {one: len(one(Evidence(good, [])).wrong) for one in judges} == dict.fromkeys(judges, 0)
    assert {one: len(one(Evidence(bad, [])).wrong) for one in judges} == judges


def test_a_fault_that_hits_the_others_excuses_a_late_leader() -> None:
    """By as long as it lasts."""
    record = Record(1, 60.0, 0.0, faults=[Struck(10.0, Fault(10.0, 2, "broken", 9.0), B)])
    leases = [lease(A, 1), lease(B, 30)]
    assert judge.others_take_over(Evidence(record, leases)).wrong == []


def test_a_write_after_a_reset_may_overlap_the_one_before() -> None:
    """The server may still be at it."""
    record = Record(1, 60.0, 0.0, faults=[Struck(1.02, Fault(1.0, 1, "reset"), A)])
    assert judge.one_worker_has_a_name(Evidence(record, [write(A, 1), write(A, 1.05)])).wrong == []


def test_memory_threads_and_handles_are_compared() -> None:
    """A minute after the start, and in the end; a leader's, once it leads."""
    record = Record(1, 600.0, 0.0, ended=600.0, lives=[Life(f"soak/{number}.1", 0.0) for number in (1, 2, 3)])
    record.samples = [Sample(at, A, 40.0 + at / 100, 18, 13) for at in range(0, 600, 10)]
    assert judge.it_does_not_grow(Evidence(record, [])).wrong == []
    record.samples = [Sample(at, A, 40.0 + at / 20, 18, 13) for at in range(0, 600, 10)]
    assert len(judge.it_does_not_grow(Evidence(record, [])).wrong) == 1
