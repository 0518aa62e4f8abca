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
            step(1, "foos.x", "", listed=1, resource_version="7"),
            "received the list of Foos: 1 object, as of",
        ),
        (step(1, "foos.x", "", events=2, resource_version="7"), "The watch of Foos delivered 2 events."),
        (
            step(1, "foos.x", "", events=1, resource_version="7", type="Updated", name="default/a"),
            "The watch of Foos delivered one event: MODIFIED a.",
        ),
        (
            step(1, "sites.x", "", events=0, resource_version="7"),
            "a bookmark: it has already sent all changes to sites up to version 7",
        ),
        (
            step(1, "foos", "", listing="first", by="pages", resource_version=""),
            "The reflector lists the Foos page by page, because the cache is still empty",
        ),
        (
            step(1, "foos", "", listing="expired", by="stream", resource_version="7"),
            "again (the cache has version 7) through a watch that starts with all objects, because",
        ),
        (step(1, "foos", "", opened=True, resource_version="7"), "sends every change after version 7"),
        (step(1, "foos", "", ended="", resource_version="7"), "as it does every few minutes. The next watch"),
        (step(1, "foos", "", ended="no answer", resource_version="7"), "silent for too long (no answer)"),
        (
            step(1, "foos", "", broke="ConnectionBroken: reset", doing="READ_WATCH", seconds=0.8),
            "The watch of Foos broke (ConnectionBroken: reset). The reflector retries in 800 ms",
        ),
        (
            step(1, "foos", "", broke="Expired: old", doing="OPEN_WATCH", seconds=0.8, expired=True),
            "answered the watch of Foos with 410, because it no longer has the events since",
        ),
        (step(2, type="Sync", joins=0, tombstone=False), "A resync adds a to the FIFO again"),
        (step(2, type="Added", joins=0, tombstone=False), "The delta Added of a goes into the FIFO"),
        (step(2, type="Updated", joins=2, tombstone=False), "with 2 deltas. Updated is appended"),
        (step(2, type="Deleted", joins=0, tombstone=True), "a tombstone (DeletedFinalStateUnknown)"),
        (
            step(3, types=["Added", "Updated"], left=4),
            "all its deltas: Added, Updated. Keys left in the FIFO: 4.",
        ),
        (step(4, "Foo", indexes=["namespace"], new=True, resync=False), "is added to its indexes: namespace"),
        (step(4, "Foo", indexes=["namespace"], new=False, resync=False), "is updated in its indexes"),
        (step(4, "Foo", indexes=["namespace"], new=False, resync=True), "stays in its indexes: namespace"),
        (step(4, "Foo", indexes=["namespace"], deleted=True), "is removed from its indexes: namespace"),
        (
            step(5, "Foo", objects=1, version="7", new=True, resync=False),
            "Foo a (version 7) is stored before any handler",
        ),
        (step(5, "Foo", objects=1, new=False, resync=False), "Foo a is replaced in the store"),
        (step(5, "Foo", objects=1, new=False, resync=True), "Foo a stays in the store unchanged."),
        (step(5, "Foo", objects=0, deleted=True), "is deleted from the store"),
        (step(6, "listener-foos-0", what="UpdateNotification", resync=False), "receives the update of a"),
        (step(6, "listener-foos-0", what="UpdateNotification", resync=True), "receives a again, unchanged"),
        (
            step(6, "listener-foos-0", what="DeleteNotification", resync=False, ignored=False),
            "receives the delete of a, and calls its handler",
        ),
        (
            step(6, "listener-foos-0", what="DeleteNotification", resync=False, ignored=True),
            "this controller's handler has no function for deletes. So no key is queued",
        ),
        (step(7, merged=False, in_flight=False), "goes to the end of the queue foo"),
        (step(7, merged=True, in_flight=False), "is already in the queue, so this add changes nothing"),
        (
            step(7, merged=True, in_flight=False)._replace(thread="delaying-foo"),
            "The delay of a is over, but an event has already queued the key",
        ),
        (step(7, merged=False, in_flight=True), "It waits in dirty until done() queues it"),
        (step(7, merged=True, in_flight=True), "It is already in dirty"),
        (step(8, waiting=3, working=1), "worker-1 gets a. The key is in processing now"),
        (step(9, "foos", found=True), "worker-1 reads Foo a from the cache. No request is sent"),
        (
            step(9, "foos", found=True)._replace(thread="listener-foos-0"),
            "The handler of listener-foos-0 reads Foo a",
        ),
        (step(9, "sites.x", found=True, version="7"), "reads sites a (version 7) from the cache"),
        (step(9, "foos", found=False), "the cache does not have it"),
        (
            step(10, "deployments.apps", "default/", verb="create", code="201", kind="Deployment"),
            "worker-1 creates a Deployment in default. The server accepts the request (201).",
        ),
        (
            step(10, "foos", verb="update status", code="409", seconds=0.1),
            "worker-1 writes the status of Foo a. The server refuses the request (409).",
        ),
        (
            step(10, "apiservices", "/", verb="create", code="<error>", seconds=0.1, kind="APIService"),
            "worker-1 creates an APIService. The server does not answer.",
        ),
        (
            step(10, "leases.x", verb="update", code="200", seconds=0.1, kind="Lease", holder="bob"),
            "bob holds the lease now, so bob is the leader.",
        ),
        (
            step(10, "leases.x", verb="update", code="200", seconds=0.1, kind="Lease", holder=""),
            "No process holds the lease now",
        ),
        (
            step(10, "leases.x", verb="update", code="500", seconds=0.1, kind="Lease", holder="ada"),
            "refuses the request (500). A leader that cannot renew its lease in time",
        ),
        (
            step(10, "foos", verb="get", code="404", seconds=0.1),
            "worker-1 asks the server instead of the cache (get Foo a). The server answers 404",
        ),
        (step(11, forgotten=3), "The sync succeeded. forget() resets the failure count of a (it was 3)"),
        (step(12, again=True), "goes back to the end of the queue"),
        (step(12, again=False), "leaves processing"),
        (
            step(11, seconds=0.01, failures=2, error="Conflict: old"),
            "a failed (Conflict: old). That is 2 failures in a row, so the key is queued again in 10 ms",
        ),
        (step(11, seconds=0.01, failures=1, error=""), "The sync of a failed. That is the first failure"),
        (
            step(11, seconds=None, failures=2, error="TerminalError: no"),
            "no). It is not retried",
        ),
        (
            step(11, seconds=10.0, waits="HeldBack: x"),
            "has to wait (HeldBack: x). It is queued again in 10 s, and",
        ),
        (step(11, seconds=30.0, waits=""), "The sync of a asked for another one. It is queued again in 30 s"),
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
