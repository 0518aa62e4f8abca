"""No acting on a cache older than our own last write."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from prometheus_client import CollectorRegistry

from handloop.apis.apps_v1 import Deployment
from handloop.apis.core_v1 import Service
from handloop.apis.meta import Kind, ObjectMeta
from handloop.apis.resource import Resource
from handloop.client.errors import ClientError, TransportError
from handloop.client.http.response import Response
from handloop.client.rest_client import Call
from handloop.controller.runtime.guards.own_writes import (
    KEPT_SECONDS,
    LONGEST_WAIT_SECONDS,
    LOOK_AGAIN_SECONDS,
    OwnWrites,
)
from handloop.controller.runtime.metrics.controller_metrics import OwnWriteMetrics
from handloop.informers.keys import ObjectName
from handloop.testing.fake_clock import FakeClock
from support.builders.deployments import deployment
from support.checks.api_errors import api_error
from support.checks.captured_logs import captured_logs
from support.rigs.reconcile_rig import NAME, FakeMirror

CHILD = ObjectName("default", "child")
OTHER = ObjectName("default", "other")


class Floors:
    """Own writes over one mirror of Deployments."""

    def __init__(self, *, timeout_seconds: float = 5, tells: bool = True) -> None:
        self.mirror = FakeMirror()
        self.clock = FakeClock()
        self.registry = CollectorRegistry()
        self.woken: list[ObjectName] = []
        self.vanished: list[ObjectName] = []
        self.server: dict[ObjectName, str | ClientError] = {}
        self.asked: list[ObjectName] = []
        self.answers_after = 0.0
        mirrors = {Deployment.resource.group_resource: self.mirror}
        self.writes = OwnWrites(
            mirrors.get,
            newest=self.newest,
            wake=self.woken.append,
            tells=lambda _resource: tells,
            vanished=self.vanished.append,
            metrics=OwnWriteMetrics(self.registry).for_controller("rig"),
            timeout_seconds=timeout_seconds,
            clock=self.clock,
        )

    def newest(self, _resource: str, name: ObjectName) -> str:
        """The server's answer."""
        self.asked.append(name)
        self.clock.advance(self.answers_after)
        answer = self.server.get(name, "")
        if isinstance(answer, ClientError):
            raise answer
        return answer

    def wrote(self, obj: Kind, name: ObjectName = NAME) -> None:
        """A reconcile wrote something."""
        self.writes.note(name, obj, gone=False)

    def deleted(self, obj: Kind) -> None:
        """A reconcile deleted something."""
        self.writes.note(NAME, obj, gone=True)

    def told(self, what: str) -> float:
        """The measurements so far: handloop_own_write_<what>."""
        value = self.registry.get_sample_value(f"handloop_own_write_{what}", {"controller": "rig"})
        assert value is not None
        return value

    def wait(self, name: ObjectName = NAME) -> float:
        """Ask as a worker does."""
        return self.writes.seconds_to_wait(name)

    def happens(self, name: ObjectName = CHILD) -> None:
        """An event of a Deployment arrives."""
        self.writes.observed(Deployment.resource.group_resource, name)


@pytest.fixture
def floors() -> Floors:
    """Nothing is written, and nothing is cached."""
    return Floors()


def test_an_older_cache_is_waited_for(floors: Floors) -> None:
    """Until the cached version is that of the write, or a newer one."""
    floors.mirror.put(deployment("child", 9))
    floors.wrote(deployment("child", 10))
    assert floors.wait() == 5
    floors.clock.advance(2)
    assert floors.wait() == 3
    floors.mirror.put(deployment("child", 11))
    assert floors.wait() == 0
    assert (floors.told("waits_total"), floors.told("wait_seconds_sum")) == (1, 2)


def test_a_cache_that_is_new_enough_is_no_wait(floors: Floors) -> None:
    """The event may be faster than the next reconcile: then nothing is counted."""
    floors.wrote(deployment("child", 10))
    floors.mirror.put(deployment("child", 10))
    assert floors.wait() == 0
    assert floors.told("waits_total") == 0


def test_a_deleted_object_is_waited_for_until_it_is_gone() -> None:
    """Gone, being deleted, or another one of that name: each is enough."""
    for after in (
        None,
        deployment("child", 11, uid="new"),
        replace(
            deployment("child"),
            metadata=ObjectMeta(
                namespace="default", name="child", uid="old", deletion_timestamp="2026-01-01T00:00:00Z"
            ),
        ),
    ):
        floors = Floors()
        floors.mirror.put(deployment("child", 10, uid="old"))
        floors.deleted(deployment("child", 10, uid="old"))
        assert floors.wait() == 5
        if after is None:
            floors.mirror.objects.clear()
            floors.mirror.seen = 11
        else:
            floors.mirror.put(after)
        assert floors.wait() == 0


def test_what_was_created_and_deleted_is_waited_for_until_both_are_seen(floors: Floors) -> None:
    """It is not in the cache, but will be: a deleted object must not come to life there once more."""
    floors.wrote(deployment("child", 10, uid="u"))
    floors.deleted(deployment("child", 10, uid="u"))
    floors.mirror.seen = 9
    assert floors.wait() == LOOK_AGAIN_SECONDS
    floors.mirror.put(deployment("child", 10, uid="u"))
    assert floors.wait() == 5
    floors.mirror.objects.clear()
    floors.mirror.seen = 11
    assert floors.wait() == 0


def test_what_was_deleted_and_created_anew_is_waited_for_as_the_new_one(floors: Floors) -> None:
    """Neither the old object in the cache nor its going ends the wait."""
    floors.mirror.put(deployment("child", 10, uid="old"))
    floors.deleted(deployment("child", 10, uid="old"))
    floors.wrote(deployment("child", 12, uid="new"))
    assert floors.wait() == 5
    floors.mirror.objects.clear()
    floors.mirror.seen = 11
    assert floors.wait() == LOOK_AGAIN_SECONDS
    floors.mirror.put(deployment("child", 12, uid="new"))
    assert floors.wait() == 0


def test_an_object_that_a_list_skipped_ends_the_wait_without_an_event(floors: Floors) -> None:
    """Created by us, deleted by another client, and then a new list: a second look shows it, no event."""
    floors.wrote(deployment("child", 10))
    floors.mirror.seen = 9
    assert floors.wait() == LOOK_AGAIN_SECONDS
    floors.mirror.seen = 20
    floors.clock.advance(LOOK_AGAIN_SECONDS)
    assert floors.wait() == 0
    assert (floors.told("waits_total"), floors.told("wait_seconds_sum")) == (1, LOOK_AGAIN_SECONDS)
    assert floors.told("timeouts_total") == 0


def test_looking_again_does_not_make_the_wait_longer(floors: Floors) -> None:
    """Five seconds are five: at their end the server is asked, which has the object no more."""
    floors.wrote(deployment("child", 10))
    floors.mirror.seen = 9
    assert floors.wait() == LOOK_AGAIN_SECONDS
    floors.clock.advance(5 - LOOK_AGAIN_SECONDS / 2)
    assert floors.wait() == LOOK_AGAIN_SECONDS / 2
    floors.clock.advance(LOOK_AGAIN_SECONDS / 2)
    assert floors.wait() == 0
    assert (floors.told("waits_total"), floors.told("wait_seconds_sum")) == (1, 5)
    assert floors.asked == [CHILD]


def test_the_event_of_a_write_wakes_who_waits(floors: Floors) -> None:
    """Each name once per event, and none once the wait is over."""
    floors.happens()
    floors.wrote(deployment("child", 10))
    floors.happens()
    assert floors.woken == []
    floors.wait()
    floors.happens(OTHER)
    floors.happens()
    assert floors.woken == [NAME]
    floors.mirror.put(deployment("child", 10))
    floors.wait()
    floors.happens()
    assert floors.woken == [NAME]


def test_two_names_can_wait_for_one_object(floors: Floors) -> None:
    """Both are woken."""
    for name in (NAME, OTHER):
        floors.wrote(deployment("child", 10), name)
        floors.wait(name)
    floors.happens()
    assert sorted(floors.woken) == [NAME, OTHER]


def behind(floors: Floors, seconds: float) -> None:
    """Look every quarter of a second, as if events kept coming: the name stays parked."""
    for _ in range(int(seconds * 4)):
        assert floors.wait() > 0
        floors.clock.advance(0.25)


def test_while_the_server_has_another_version_the_cache_is_waited_for(floors: Floors) -> None:
    """A half-open watch, for as long as it takes to notice; one question in five seconds."""
    floors.wrote(deployment("child", 10))
    floors.server[CHILD] = "12"
    behind(floors, 80)
    assert len(floors.asked) == 15
    assert floors.told("timeouts_total") == 0
    floors.mirror.put(deployment("child", 12))
    assert floors.wait() == 0
    assert (floors.told("waits_total"), floors.told("wait_seconds_sum")) == (1, 80)


@pytest.mark.parametrize("newest", ["", "12"], ids=["gone", "another"])
def test_an_object_that_the_cache_still_has_and_the_server_has_not_is_waited_for(newest: str) -> None:
    """A deletion of ours, and one of another client's after our patch: the cache is behind in both."""
    for gone in (False, True):
        floors = Floors()
        floors.mirror.put(deployment("child", 9))
        floors.writes.note(NAME, deployment("child", 10), gone=gone)
        floors.server[CHILD] = newest
        behind(floors, 20)
        floors.mirror.objects.clear()
        floors.mirror.seen = 13
        assert floors.wait() == 0


def test_what_is_neither_in_the_cache_nor_on_the_server_ends_the_wait(floors: Floors) -> None:
    """Each such object is asked for once, and told of; one that is there keeps the name parked."""
    floors.mirror.seen = 9
    for name, version in (("child", 10), ("other", 11), ("third", 12)):
        floors.wrote(deployment(name, version))
    floors.server[OTHER] = "11"
    behind(floors, 15)
    assert floors.asked == [CHILD, OTHER, OTHER]
    floors.server.clear()
    assert floors.wait() == 0
    assert floors.asked[3:] == [OTHER, ObjectName("default", "third")]
    assert floors.vanished == [NAME] * 3
    assert floors.told("timeouts_total") == 0
    assert not floors.writes._floors
    assert not floors.writes._waiting
    assert not floors.writes._parked_at


def test_who_deletes_what_it_has_just_made_misses_nothing(floors: Floors) -> None:
    """That tells nothing about the owner."""
    floors.mirror.seen = 9
    floors.wrote(deployment("child", 10))
    floors.deleted(deployment("child", 11))
    behind(floors, 5)
    assert floors.wait() == 0
    assert floors.vanished == []


@pytest.mark.parametrize(("seconds", "then"), [(10.0, 10), (30.0, 9)], ids=["back", "past"])
def test_a_server_in_the_past_of_our_write_is_believed_after_half_a_minute(
    floors: Floors, seconds: float, then: int
) -> None:
    """As a list from the past is: until then the present may come back."""
    floors.wrote(deployment("child", 10))
    floors.mirror.put(deployment("child", 9))
    floors.server[CHILD] = "9"
    behind(floors, seconds)
    floors.mirror.put(deployment("child", then))
    assert floors.wait() == 0


@pytest.mark.parametrize("error", [api_error(403, "Forbidden"), TransportError("unreachable")])
def test_who_cannot_ask_takes_the_cache_for_behind(floors: Floors, error: ClientError) -> None:
    """A role without get, or no server: a second child would stay, a wait ends. It is logged once."""
    floors.mirror.seen = 9
    floors.wrote(deployment("child", 10))
    floors.server[CHILD] = error
    with captured_logs() as lines:
        behind(floors, 60)
    (line,) = (one for one in lines if one["log_level"] == "warning")
    assert line["event"] == "Cache lacks our own write, waiting for it"
    assert ("add get to the role" in line["why"]) is (error.__class__.__name__ == "Forbidden")
    floors.mirror.put(deployment("child", 10))
    assert floors.wait() == 0


@pytest.mark.parametrize("seconds", [0.0, 30.0], ids=["at once", "late"])
def test_a_server_is_asked_once_for_all_names_of_a_kind(floors: Floors, seconds: float) -> None:
    """A thousand parked names would otherwise be a thousand requests to a server that lags already."""
    floors.answers_after = seconds
    floors.mirror.seen = 9
    names = [ObjectName("default", f"n{number}") for number in range(20)]
    floors.server[CHILD] = "10"
    for name in names:
        floors.wrote(deployment("child", 10), name)
        floors.wait(name)
    floors.clock.advance(5)
    assert all(floors.wait(name) > 0 for name in names)
    assert floors.asked == [CHILD]


def test_a_cache_that_stays_behind_is_given_up_in_the_end(floors: Floors) -> None:
    """As client-go's expectations are; and then nothing is left of the floor."""
    floors.wrote(deployment("child", 10))
    floors.server[CHILD] = "10"
    behind(floors, LONGEST_WAIT_SECONDS)
    assert floors.wait() == 0
    assert (floors.told("waits_total"), floors.told("wait_seconds_sum")) == (1, LONGEST_WAIT_SECONDS)
    assert floors.told("timeouts_total") == 1
    assert floors.wait() == 0
    assert floors.told("timeouts_total") == 1
    assert not floors.writes._floors
    assert not floors.writes._waiting
    assert not floors.writes._parked_at


def test_all_writes_of_a_reconcile_are_waited_for(floors: Floors) -> None:
    """One that has arrived does not end the wait for another, and is not looked at again."""
    floors.wrote(deployment("child", 10))
    floors.wrote(deployment("second", 11))
    assert floors.wait() == LOOK_AGAIN_SECONDS
    floors.mirror.put(deployment("child", 10))
    assert floors.wait() == LOOK_AGAIN_SECONDS
    floors.happens()
    assert floors.woken == []
    floors.mirror.put(deployment("second", 11))
    assert floors.wait() == 0


def test_the_last_write_of_an_object_counts(floors: Floors) -> None:
    """Two patches of one object are one floor, the higher one."""
    floors.wrote(deployment("child", 10))
    floors.wrote(deployment("child", 12))
    floors.mirror.put(deployment("child", 10))
    assert floors.wait() == 5
    floors.mirror.put(deployment("child", 12))
    assert floors.wait() == 0


def test_floors_of_a_name_that_comes_no_more_are_dropped_in_time(floors: Floors) -> None:
    """A write for an object that is gone, and one that a predicate hides, lead to no reconcile."""
    floors.mirror.put(deployment("child", 4))
    floors.wrote(deployment("child", 5))
    floors.clock.advance(KEPT_SECONDS - 1)
    floors.wrote(deployment("child", 6))
    floors.clock.advance(KEPT_SECONDS - 1)
    assert floors.wait() == 5
    floors.clock.advance(4)
    assert floors.wait() == 1
    floors.mirror.put(deployment("child", 6))
    assert floors.wait() == 0
    floors.wrote(deployment("child", 7))
    floors.clock.advance(KEPT_SECONDS + 5)
    assert floors.wait() == 0
    assert floors.asked == []


def test_the_next_wait_of_a_name_that_was_parked_and_came_no_more_starts_anew(floors: Floors) -> None:
    """An object deleted while it was parked may have no reconcile. A new one of its name waits in full."""
    floors.wrote(deployment("child", 5))
    assert floors.wait() > 0
    floors.clock.advance(KEPT_SECONDS + 6)
    floors.mirror.put(deployment("child", 5))
    floors.wrote(deployment("child", 6))
    assert floors.wait() == 5
    assert floors.told("timeouts_total") == 0


def test_nothing_is_left_of_a_parked_name_that_comes_no_more(floors: Floors) -> None:
    """Neither when it was parked, nor what it waited for."""
    floors.wrote(deployment("child", 5))
    assert floors.wait() > 0
    floors.clock.advance(KEPT_SECONDS + 6)
    assert floors.wait(OTHER) == 0
    assert not floors.writes._waiting
    assert not floors.writes._parked_at


def test_it_can_be_turned_off() -> None:
    """A timeout of 0: nothing is remembered."""
    floors = Floors(timeout_seconds=0)
    floors.wrote(deployment("child", 10))
    assert floors.wait() == 0
    assert not floors.writes._floors


def test_our_own_deletion_is_known_until_it_has_been_seen(floors: Floors) -> None:
    """Of that very object, in behalf of that very name."""
    child = deployment("child", 10)
    floors.mirror.put(child)
    assert not floors.writes.has_deleted(NAME, child)
    floors.wrote(child)
    assert not floors.writes.has_deleted(NAME, child)
    floors.deleted(child)
    another = replace(child, metadata=replace(child.metadata, uid="another"))
    assert floors.writes.has_deleted(NAME, child)
    assert not floors.writes.has_deleted(NAME, another)
    assert not floors.writes.has_deleted(OTHER, child)
    floors.mirror.objects.clear()
    floors.mirror.seen = 11
    assert floors.wait() == 0
    assert not floors.writes.has_deleted(NAME, child)


# the reports of a client


def told(verb: str, body: str, *, name: str = "", resource: Resource = Deployment.resource) -> Floors:
    """Floors with one accepted write."""
    floors = Floors()
    method = {"create": "POST", "delete": "DELETE"}.get(verb, "PUT")
    call = Call(verb, method, "/", resource=resource.group_resource, namespace="default", name=name)
    floors.writes.accepted(NAME, call, Response(200, {}, body.encode()))
    return floors


def test_the_answer_names_a_created_object() -> None:
    """The server made the name, as for generateName."""
    floors = told("create", '{"metadata": {"name": "child", "uid": "u", "resourceVersion": "10"}}')
    assert floors.wait() > 0
    floors.mirror.put(deployment("child", 10))
    assert floors.wait() == 0


def test_an_answer_may_be_nested_deep() -> None:
    """Fields that others add to the object do not count."""
    deep = "[" * 20_000 + "]" * 20_000
    floors = told("patch", f'{{"metadata": {{"name": "child", "resourceVersion": "10"}}, "extra": {deep}}}')
    assert floors.wait() > 0


def test_a_write_to_a_subresource_is_one_of_its_object() -> None:
    """A Scale bears the name and the version of what it scales."""
    body = '{"kind": "Scale", "metadata": {"name": "child", "resourceVersion": "10"}}'
    floors = told("update scale", body, name="child")
    floors.mirror.put(deployment("child", 9))
    assert floors.wait() > 0


def test_a_deletion_is_known_by_the_uid_in_its_status() -> None:
    """A Status has no version: the object that is there must go, or begin to."""
    floors = told("delete", '{"kind": "Status", "details": {"name": "child", "uid": "u"}}', name="child")
    child = deployment("child", 10, uid="u")
    floors.mirror.put(child)
    assert floors.writes.has_deleted(NAME, child)
    assert floors.wait() > 0
    floors.mirror.objects.clear()
    assert floors.wait() == 0


def test_a_deletion_of_what_the_cache_never_had_waits_for_its_creation(floors: Floors) -> None:
    """Created and deleted on behalf of one name: an empty cache may just be late."""
    floors.wrote(deployment("child", 10, uid="u"))
    call = Call("delete", "DELETE", "/", resource="deployments.apps", namespace="default", name="child")
    floors.writes.accepted(NAME, call, Response(200, {}, b'{"kind": "Status", "details": {"uid": "u"}}'))
    floors.mirror.seen = 9
    assert floors.wait() > 0
    floors.mirror.seen = 10
    assert floors.wait() == 0


@pytest.mark.parametrize(
    ("body", "resource"),
    [
        ("no JSON", Deployment.resource),
        ('{"kind": "Status", "status": "Success"}', Deployment.resource),
        ('{"metadata": {"name": "child", "resourceVersion": "10"}}', Service.resource),
    ],
    ids=["no answer", "no object", "no cache"],
)
def test_what_cannot_be_waited_for_is_not(body: str, resource: Resource) -> None:
    """No watch event of a cache will show it."""
    assert told("create", body, resource=resource).wait() == 0


def test_a_cache_without_events_is_looked_at_again() -> None:
    """One that is only read: no watch event of it wakes the name."""
    floors = Floors(tells=False)
    floors.mirror.put(deployment("child", 9))
    floors.wrote(deployment("child", 10))
    assert floors.wait() == LOOK_AGAIN_SECONDS
    floors.mirror.put(deployment("child", 10))
    assert floors.wait() == 0


def test_an_object_that_does_not_belong_in_the_cache_is_not_waited_for(floors: Floors) -> None:
    """A selected cache never gets it; one that was moved out of the selection is waited for to leave."""
    floors.mirror.selected = set()
    floors.wrote(deployment("child", 10))
    assert floors.wait() == 0
    floors.mirror.put(deployment("child", 9))
    floors.wrote(deployment("child", 10))
    assert floors.wait() == 5
    floors.mirror.objects.clear()
    assert floors.wait() == 0
    assert floors.asked == []


def test_a_deletion_after_a_creation_in_the_selection_waits_for_both(floors: Floors) -> None:
    """Its answer has no labels: what the creation told counts."""
    floors.mirror.selected = {"child"}
    floors.wrote(deployment("child", 10))
    floors.writes.note(NAME, deployment("child", ""), gone=True)
    assert floors.wait() > 0
    floors.mirror.seen = 10
    assert floors.wait() == 0


def test_writes_for_names_of_another_replica_are_forgotten(floors: Floors) -> None:
    """When the slot comes back, no version of before is waited for; a name that stays waits on."""
    floors.wrote(deployment("child", 10))
    floors.wrote(deployment("child", 10), OTHER)
    assert floors.wait() > 0
    assert floors.wait(OTHER) > 0
    floors.writes.forget_names(lambda name: name == NAME)
    assert floors.wait() == 0
    floors.happens()
    assert floors.woken == [OTHER]
