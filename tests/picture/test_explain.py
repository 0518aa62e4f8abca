"""One sentence for each step."""

from __future__ import annotations

from typing import Any

import pytest

from handloop.informers.outage import Doing
from handloop.informers.relist_policy import RelistReason
from handloop.picture.explain import explain, seconds_text
from handloop.picture.recorder import Step


def step(number: int, component: str = "foo", key: str = "default/a", **facts: Any) -> Step:
    return Step(1, 0.0, "worker-1", number, component, key, facts)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (
            step(1, "foos", "", listed=1, resource_version="7"),
            "listed 1 object of foos, at resource version 7",
        ),
        (step(1, "foos", "", events=2, resource_version="7"), "brought 2 watch events of foos"),
        (step(1, "foos", "", events=0, resource_version="7"), "a bookmark: nothing of foos changed"),
        (
            step(1, "foos", "", listing="first", by="pages", resource_version=""),
            "The reflector lists foos page by page: the cache is empty",
        ),
        (
            step(1, "foos", "", listing="expired", by="stream", resource_version="7"),
            "again (it had version 7) by a watch that begins with all objects: the server no longer",
        ),
        (
            step(1, "foos", "", opened=True, resource_version="7"),
            "sends every change after version 7",
        ),
        (step(1, "foos", "", ended="", resource_version="7"), "as it does after some minutes: the next one"),
        (step(1, "foos", "", ended="no answer", resource_version="7"), "silent for too long (no answer)"),
        (
            step(1, "foos", "", broke="ConnectionBroken: reset", doing="READ_WATCH", seconds=0.8),
            "The watch of foos broke: ConnectionBroken: reset. The reflector tries again in 800 ms",
        ),
        (
            step(1, "foos", "", broke="Expired: old", doing="OPEN_WATCH", seconds=0.8, expired=True),
            "answered 410 to foos: it no longer has the events since our version",
        ),
        (step(2, type="Sync", joins=0, tombstone=False), "A resync: default/a goes into the FIFO once more"),
        (step(2, type="Added", joins=0, tombstone=False), "Added of default/a went into the FIFO"),
        (step(2, type="Updated", joins=2, tombstone=False), "with 2 deltas: Updated joins"),
        (step(2, type="Deleted", joins=0, tombstone=True), "a tombstone (DeletedFinalStateUnknown)"),
        (step(3, types=["Added", "Updated"], left=4), "Added, Updated. Keys left: 4."),
        (
            step(4, "Foo", indexes=["namespace"], new=True, resync=False),
            "was entered in its indexes: namespace",
        ),
        (step(4, "Foo", indexes=["namespace"], new=False, resync=True), "stays in its indexes: namespace"),
        (step(4, "Foo", indexes=["namespace"], deleted=True), "left its indexes: namespace"),
        (step(5, "Foo", objects=1, new=True, resync=False), "is new in the store"),
        (step(5, "Foo", objects=1, new=False, resync=False), "was replaced in the store"),
        (
            step(5, "Foo", objects=1, new=False, resync=True),
            "Foo default/a stays in the store as it is: nothing",
        ),
        (step(5, "Foo", objects=0, deleted=True), "left the store"),
        (step(6, "listener-foos-0", what="UpdateNotification", resync=False), "gets the update of default/a"),
        (
            step(6, "listener-foos-0", what="UpdateNotification", resync=True),
            "gets default/a once more, unchanged",
        ),
        (step(7, merged=False, in_flight=False), "went to the end of the queue foo"),
        (step(7, merged=True, in_flight=False), "waits in the queue already"),
        (step(7, merged=False, in_flight=True), "kept in dirty, until done() queues it"),
        (step(7, merged=True, in_flight=True), "dirty holds it until done()"),
        (step(8, waiting=3, working=1), "worker-1 got default/a"),
        (step(9, "foos", found=True), "worker-1 read default/a of foos from the cache: no request was sent"),
        (
            step(9, "foos", found=True)._replace(thread="listener-foos-0"),
            "The handler of listener-foos-0 read default/a",
        ),
        (step(9, "foos", found=True, version="7"), "read default/a of foos at version 7 from the cache"),
        (step(9, "foos", found=False), "the cache does not hold it"),
        (
            step(10, "deployments.apps", "default/", verb="create", code="201", seconds=0.0031),
            "create deployments.apps in default: the server answered 201 after 3.1 ms",
        ),
        (
            step(10, "leases.x", verb="update", code="200", seconds=0.1),
            "200 after 100 ms. So a process takes",
        ),
        (
            step(10, "leases.x", verb="update", code="500", seconds=0.1),
            "If its holder cannot renew it in time",
        ),
        (
            step(10, "foos", "default/a", verb="get", code="404", seconds=0.0031),
            "worker-1 asked the server and not the cache: get foos default/a. The server answered 404",
        ),
        (step(11, forgotten=0), "finds no failure to drop"),
        (step(11, forgotten=3), "drops its 3 failures"),
        (step(12, again=True), "goes back to the end of the queue"),
        (step(12, again=False), "left processing"),
        (
            step(11, seconds=0.01, failures=2, error="Conflict: old"),
            "default/a failed (Conflict: old), 2 failures in a row: it comes back in 10 ms",
        ),
        (step(11, seconds=0.01, failures=2, error=""), "default/a failed, 2 failures in a row"),
        (
            step(11, seconds=None, failures=2, error="TerminalError: no"),
            "for good (TerminalError: no)",
        ),
        (step(11, seconds=10.0, waits="HeldBack: x"), "has to wait (HeldBack: x): it comes back in 10 s"),
        (step(11, seconds=30.0, waits=""), "asked for another sync later: it comes back in 30 s"),
    ],
)
def test_a_sentence_explains_the_facts(told: Step, words: str) -> None:
    """Each way in which a step can go has its own words, and the sentence has an end."""
    sentence = explain(told)
    assert words in sentence
    assert sentence.endswith(".")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.005, "5 ms"), (0.0101, "10.1 ms"), (1.28, "1.28 s"), (16.7, "16.7 s")]
)
def test_durations_are_short(seconds: float, text: str) -> None:
    """Three digits."""
    assert seconds_text(seconds) == text


def test_every_reason_and_every_trouble_of_a_reflector_has_words() -> None:
    """A new one in the informers needs a sentence here."""
    lists = [step(1, "foos", "", listing=str(why), by="pages", resource_version="7") for why in RelistReason]
    troubles = [step(1, "foos", "", broke="x", doing=doing.name, seconds=1.0) for doing in Doing]
    assert len(set(map(explain, lists + troubles))) == len(RelistReason) + len(Doing)
