"""The sentences that answer why: a pure function of how a name stands, and of what was decided."""

from __future__ import annotations

import pytest

from handloop.controller.runtime.reconciling.explanation import Now, explained, near
from handloop.controller.runtime.sources.decisions import (
    DROPPED,
    FAILED,
    GAVE_UP,
    IGNORED,
    PARKED,
    PAUSED,
    SETTLED,
    TOLD,
    WAITS,
    Decision,
)
from handloop.controller.runtime.sources.reconcile_queue import Cause, Standing

IDLE = Standing((), None, None, 0, gave_up=False)
DONE = Decision(at=10, what=SETTLED, cause="Foo n/a updated", milliseconds=4)
BROKE = Decision(at=10, what=FAILED, text="no answer", milliseconds=500, changes="foos n/a patched")
EVENT = Decision(at=20, what=DROPPED, text="Foo updated", by="GenerationChanged", count=3)
BEHIND = Decision(
    at=20, what=PARKED, text="a cache lacks what its last reconcile wrote", milliseconds=5000, count=2
)
BY_GENERATION = "dropped by GenerationChanged (Foo updated)"
TRIES = "(`kubectl annotate ... g/reconcile-at=...` tries it again)"
UPDATED = Cause("Foo", "updated", "n/a")

CASES = [
    (
        Now(IDLE),
        (),
        ["nothing to do: this process has no record of a reconcile"],
    ),
    (
        Now(IDLE),
        (DONE, EVENT),
        [
            f"nothing to do: the last reconcile wrote nothing; 3 events since were {BY_GENERATION}",
            f"80 s ago: 3 events were {BY_GENERATION}",
            "90 s ago: reconciled in 0.004 s for Foo n/a updated: wrote nothing",
        ],
    ),
    (
        Now(IDLE._replace(due_in=41.2, due=Cause("retry", detail="6 after Conflict"), failures=6)),
        (BROKE,),
        [
            "waits 41 s more after 6 failures, the last: no answer",
            "90 s ago: reconciled in 0.500 s: wrote foos n/a patched, and failed: no answer",
        ],
    ),
    (
        Now(IDLE._replace(failures=1)),
        (BROKE,),
        [
            "backs off after 1 failure, the last: no answer",
            "90 s ago: reconciled in 0.500 s: wrote foos n/a patched, and failed: no answer",
        ],
    ),
    (
        Now(IDLE._replace(gave_up=True), poke="g/reconcile-at"),
        (
            Decision(at=0, what=GAVE_UP, text="no such image"),
            Decision(at=99, what=IGNORED, text="resync", by="x"),
        ),
        [
            f"waits for a change, as the last reconcile failed permanently: no such image {TRIES}",
            "1 s ago: 1 cause had no effect, as x (resync)",
            "100 s ago: reconciled in 0.000 s: wrote nothing, and failed permanently: no such image",
        ],
    ),
    (
        Now(IDLE._replace(due_in=20.0, due=Cause("wait"))),
        (Decision(at=90, what=WAITS, text="Deployment n/a goes"),),
        [
            "waits for a watch event, for at most another 20 s: Deployment n/a goes",
            "10 s ago: reconciled in 0.000 s: wrote nothing, and waits: Deployment n/a goes",
        ],
    ),
    (
        Now(IDLE._replace(due_in=7300.0, due=Cause("requeue"))),
        (),
        ["is reconciled again in 2.0 h, as its last reconcile requested"],
    ),
    (
        Now(IDLE._replace(causes=(UPDATED,))),
        (BEHIND,),
        [
            (
                "waits at most 5 s, because a cache lacks what its last reconcile wrote; "
                "then it is reconciled for Foo n/a updated"
            ),
            "80 s ago: parked, because a cache lacks what its last reconcile wrote, 2 times",
        ],
    ),
    (
        Now(IDLE),
        (Decision(at=99, what=SETTLED, cause="requeue after 30s", count=7),),
        [
            "nothing to do: the last reconcile wrote nothing",
            "1 s ago: reconciled 7 times, the last in 0.000 s for requeue after 30s: wrote nothing",
        ],
    ),
    (
        Now(IDLE),
        (
            Decision(at=40, what=TOLD, text="Old: gone"),
            Decision(at=99.5, what=TOLD, text="NameTaken: of another", count=2),
            Decision(at=100, what=SETTLED, milliseconds=600),
        ),
        [
            "nothing to do: the last reconcile wrote nothing; the user was warned: NameTaken: of another",
            "0.000 s ago: reconciled in 0.600 s: wrote nothing",
            "0.500 s ago: warned the user 2 times: NameTaken: of another",
            "60 s ago: warned the user: Old: gone",
        ],
    ),
    (Now(IDLE._replace(causes=(UPDATED,))), (), ["waits for a worker, for Foo n/a updated"]),
    (
        Now(IDLE._replace(causes=(UPDATED,)), running=(150, "a.py:3 in f")),
        (),
        [
            "has been in its reconcile for 2 min, at a.py:3 in f",
            "is reconciled again afterwards, for Foo n/a updated",
        ],
    ),
    (
        Now(IDLE, paused="by its annotation", deleting=True),
        (Decision(at=100, what=PAUSED, cause="c"),),
        [
            "is paused by its annotation, its deletion too",
            "0.000 s ago: not reconciled, because it is paused for c",
        ],
    ),
    (
        Now(IDLE, known=False, troubles=("foos: 403",)),
        (),
        ["waits for the caches: foos: 403", "the cache has no such object"],
    ),
    (
        Now(IDLE, known=False, misfit=True),
        (),
        ["is not reconciled: the object does not fit its type; see the Event InvalidObject"],
    ),
]


@pytest.mark.parametrize(("now", "decisions", "says"), CASES)
def test_what_is_said(now: Now, decisions: tuple[Decision, ...], says: list[str]) -> None:
    """How it stands, and then what was decided, the newest first."""
    assert list(explained(now, decisions, 100)) == says


def test_names_that_are_near() -> None:
    """The same name in another namespace first, then one that is a letter off."""
    assert near("n/web", ["m/web", "n/wep", "n/other", "x/wep"]) == ("m/web", "n/wep")
    assert near("n/web", []) == ()
    assert near("web", ["wep"]) == ("wep",)
