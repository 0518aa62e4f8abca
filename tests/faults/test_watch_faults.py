"""The reflector under the sandbox's faults: it reacts as designed, and the cache ends up right."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from handloop.testing.eventually import eventually as until
from handloop_sandbox.faults.injection import Injection
from support.servers.faulty_cluster import FOOS, OURS, SECONDS, FaultyCluster, Mirror, mirrored

FAULTS: dict[str, Callable[[FaultyCluster], object]] = {
    "cut": lambda c: c.faults.drop_watches("cut", count=2, **OURS),
    "reset": lambda c: c.faults.drop_watches("reset", count=2, **OURS),
    "cut after an event": lambda c: c.faults.drop_watches("cut", after_events=1, count=2, **OURS),
    "ended at once": lambda c: c.faults.drop_watches(count=3, **OURS),
    "half-open": lambda c: c.faults.silence(count=1, **OURS),
    "half-open after an event": lambda c: c.faults.silence(after_events=1, count=1, **OURS),
    "late": lambda c: c.faults.delay_watches(0.2, count=2, **OURS),
    "repeated": lambda c: c.faults.distort_watches("repeat", count=2, **OURS),
    "reversed": lambda c: c.faults.distort_watches("reverse", count=2, **OURS),
    "garbled": lambda c: c.faults.distort_watches("garble", count=1, **OURS),
    "expired in the stream": lambda c: c.faults.expire(count=2, **OURS),
    "expired as a status": lambda c: c.faults.expire(as_status=True, count=2, **OURS),
    "429 on opening": lambda c: c.faults.error(429, retry_after=1, verbs=["watch"], count=2, **OURS),
    "503 on opening": lambda c: c.faults.error(503, verbs=["watch"], count=2, **OURS),
    "500 on lists": lambda c: c.faults.error(500, verbs=["list"], count=2, **OURS),
    "403": lambda c: c.faults.deny(verbs=["list", "watch"], count=2, **OURS),
    "slow": lambda c: c.faults.latency(0.2, count=4, **OURS),
    "never answered": lambda c: c.faults.silence(verbs=["list"], count=1, **OURS),
    "connection lost": lambda c: c.faults.lose_answer(verbs=["list", "watch"], count=2, **OURS),
    "compacted": lambda c: c.faults.compact(),
    "a stale cache": lambda c: c.faults.lag(count=3, **OURS),
    "a stale store": lambda c: c.faults.lag(consistent_reads=True, seconds=0.5, **OURS),
}


def _has_more_hits(injection: Injection, number: int) -> bool:
    return injection.hits > number


@pytest.mark.parametrize("name", FAULTS)
def test_nothing_is_missed(cluster: FaultyCluster, mirror: Mirror, name: str) -> None:
    """
    Created, changed and deleted meanwhile, the cache ends up equal.

    An open stream is cut as well, so that the fault meets the next one too.
    """
    FAULTS[name](cluster)
    cluster.faults.drop_watches(only_open=True, **OURS)
    cluster.create_foo("second")
    cluster.change(FOOS, "first", {"spec": {"replicas": 3}})
    cluster.create_foo("gone")
    cluster.delete(FOOS, "gone")
    if "repeated" in name or "reversed" in name or "garbled" in name:
        until(lambda: "second" in mirror.versions(), "seen", seconds=SECONDS)
    mirror.wait_equal()
    cluster.faults.clear()
    cluster.change(FOOS, "second", {"spec": {"replicas": 2}})
    mirror.wait_equal()


@pytest.mark.parametrize("name", FAULTS)
def test_a_start_under_faults(cluster: FaultyCluster, name: str) -> None:
    """An informer that is started while things go wrong gets its cache all the same."""
    cluster.create_foo("first")
    FAULTS[name](cluster)
    with mirrored(cluster) as mirror:
        mirror.wait_equal()
        cluster.create_foo("second")
        mirror.wait_equal()


@pytest.mark.parametrize(
    "fault",
    [
        lambda c: c.faults.drop_watches("end", count=2, **OURS),
        lambda c: c.faults.drop_watches("cut", count=2, **OURS),
        lambda c: c.faults.drop_watches("reset", count=2, **OURS),
        lambda c: c.faults.error(429, retry_after=1, verbs=["watch"], count=2, **OURS),
        lambda c: c.faults.silence(count=2, **OURS),
    ],
    ids=["ended", "cut", "reset", "429", "half-open"],
)
def test_trouble_with_a_watch_is_no_reason_for_a_list(
    cluster: FaultyCluster, mirror: Mirror, fault: Callable[[FaultyCluster], Injection]
) -> None:
    """Broken, refused for now, or silent for longer than the read timeout: the next goes on from its end."""
    before, injection = mirror.watches(), fault(cluster)
    cluster.faults.drop_watches(only_open=True, **OURS)
    until(lambda: injection.is_spent, "met", seconds=SECONDS)
    cluster.create_foo("second")
    mirror.wait_equal()
    assert mirror.watches() > before
    assert dict(mirror.relists()) == {}


@pytest.mark.parametrize("as_status", [False, True])
def test_an_expired_version_leads_to_a_list(cluster: FaultyCluster, mirror: Mirror, as_status: bool) -> None:
    """410, as a status or in the stream, is answered by listing again."""
    cluster.faults.expire(as_status=as_status, count=1, **OURS)
    if as_status:
        cluster.faults.drop_watches(only_open=True, **OURS)
    until(lambda: mirror.relists().get("expired"), "listed again", seconds=SECONDS)
    cluster.create_foo("second")
    mirror.wait_equal()
    assert dict(mirror.relists()) == {"expired": 1}


def test_a_storm_of_expiries_is_met_with_patience(cluster: FaultyCluster, mirror: Mirror) -> None:
    """While every version expires at once, lists are made with back-off; afterwards all is well."""
    storm = cluster.faults.expire(after_events=1, **OURS)
    began_at = cluster.clock.now()
    for number in range(4):
        cluster.create_foo(f"storm-{number}")
        until(partial(_has_more_hits, storm, number), "expired again", seconds=SECONDS)
    lists = sum(mirror.relists().values())
    # 0.8 s and more between two rounds: the first list comes at once
    assert lists <= 1 + (cluster.clock.now() - began_at) / 0.8
    storm.clear()
    mirror.wait_equal()


def test_watches_that_end_at_once_are_met_with_patience(cluster: FaultyCluster, mirror: Mirror) -> None:
    """No hot loop; between two empty watches lies a back-off."""
    before, began_at = mirror.watches(), cluster.clock.now()
    with cluster.faults.drop_watches(**OURS) as drop:
        until(lambda: drop.hits >= 6, "dropped", seconds=SECONDS)
        opened = mirror.watches() - before
        assert opened <= 2 + (cluster.clock.now() - began_at) / 0.8
    cluster.create_foo("second")
    mirror.wait_equal()


def test_a_stale_list_is_not_published(cluster: FaultyCluster, mirror: Mirror) -> None:
    """A list older than the cache is refused and asked for again; nothing goes back in time."""
    cluster.create_foo("second")
    mirror.wait_equal()
    version = cluster.sandbox.engine.version()
    lists = {"verbs": ["list"], **OURS}
    cluster.faults.error(410, reason="Expired", count=1, **lists)  # from here on no list names a version
    with cluster.faults.lag(50, consistent_reads=True, count=1, **lists) as stale:
        cluster.faults.error(400, verbs=["watch"], count=3, **OURS)
        cluster.faults.drop_watches(only_open=True, **OURS)
        until(lambda: stale.hits >= 1, "listed the past", seconds=SECONDS)
        until(lambda: mirror.watches() >= 2, "watched again", seconds=SECONDS)
    mirror.wait_equal()
    assert mirror.deleted == []
    assert int(mirror.informer.last_sync_resource_version()) >= version


def test_a_rewound_history_is_accepted(cluster: FaultyCluster, mirror: Mirror) -> None:
    """After a backup was restored the cache follows the server into the past."""
    cluster.call("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "elsewhere"}})
    version = cluster.sandbox.engine.version()
    # a bookmark has come: only where there are some, silence means something
    until(lambda: int(mirror.informer.last_sync_resource_version()) >= version, "told", seconds=SECONDS)
    cluster.create_foo("lost")
    cluster.change(FOOS, "first", {"spec": {"replicas": 5}})
    mirror.wait_equal()
    cluster.faults.rewind(resource_version=version)
    assert set(cluster.versions()) == {"first"}
    mirror.wait_equal()
    cluster.create_foo("after")
    mirror.wait_equal()


def test_lost_events_are_a_limit(cluster: FaultyCluster, mirror: Mirror) -> None:
    """What a server keeps back for ever cannot be known; the next list brings it."""
    with cluster.faults.distort_watches("lose", only_open=True, **OURS):
        cluster.create_foo("unseen")
        until(lambda: mirror.informer.statistics().queued == 0, "settled", seconds=SECONDS)
        assert "unseen" not in mirror.versions()
    cluster.faults.expire(only_open=True, **OURS)
    mirror.wait_equal()
    assert "unseen" in mirror.versions()
