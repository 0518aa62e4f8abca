"""Authorities and certificates of the webhook, on a clock that the test moves."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from itertools import pairwise
from random import Random

import pytest

from handloop.controller.runtime.conversion.trust import NO_PAIR, Lifetimes, Material, Trust
from handloop.controller.runtime.serving.key_pairs import KeyPair, certificates_in, new_pair

SHORT = Lifetimes(authority=timedelta(hours=9), certificate=timedelta(hours=1), grace=timedelta(minutes=1))
TRUST = Trust("shop-webhook", ("shop-webhook.shop.svc",), SHORT)
NOW = 1_700_000_000.0


class Cluster:
    """The Secret, and one definition; a replica serves with the last pair that it has seen."""

    def __init__(self, trust: Trust = TRUST) -> None:
        self.trust = trust
        self.now = NOW
        self.material = Material()
        self.bundle = b""
        self.served = NO_PAIR

    def look(self) -> float:
        """One look of the keeper; the replica has a new pair at once, or not."""
        step = self.trust.step(self.material, [self.bundle], self.now)
        self.material, self.bundle = step.material, step.material.authorities
        return step.wait_seconds

    def settle(self) -> None:
        """Until the keeper has nothing to do for a while."""
        for _ in range(200):
            wait = self.look()
            if wait > SHORT.grace.total_seconds():
                return
            self.now += wait
        raise AssertionError("it does not settle")

    def is_served(self, pair: KeyPair) -> bool:
        """Whether the API server trusts one that serves with this pair."""
        (certificate,) = certificates_in(pair.certificate)
        if (
            not certificate.not_valid_before_utc.timestamp()
            < self.now
            < certificate.not_valid_after_utc.timestamp()
        ):
            return False
        return any(_has_signed(authority, certificate) for authority in certificates_in(self.bundle))


def _has_signed(authority: object, certificate: object) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)  # type: ignore[attr-defined]
    except Exception:
        return False
    return True


@pytest.fixture
def cluster() -> Cluster:
    """One that has settled."""
    found = Cluster()
    found.settle()
    return found


def test_the_first_pair_is_there_at_once() -> None:
    """As soon as the definition trusts the authority: nothing is served that it could break."""
    cluster = Cluster()
    cluster.look()
    assert cluster.material.pair == NO_PAIR
    cluster.look()
    assert cluster.is_served(cluster.material.pair)
    assert len(certificates_in(cluster.bundle)) == 1


def test_no_replica_is_ever_distrusted(cluster: Cluster) -> None:
    """Ten authorities and their certificates; one that has the pair of half an hour ago is trusted, too."""
    pairs = [(cluster.now, cluster.material.pair)]
    authorities = {cluster.material.key}
    while len(authorities) <= 10:
        cluster.now += cluster.look()
        authorities.add(cluster.material.key)
        if cluster.material.pair != pairs[-1][1]:
            pairs.append((cluster.now, cluster.material.pair))
        for (_, old), (since, _) in pairwise(pairs):
            assert cluster.now - since > 1800 or cluster.is_served(old)
        assert cluster.is_served(cluster.material.pair)
        assert len(certificates_in(cluster.bundle)) <= 2
    assert len(pairs) > 60
    assert min(later - earlier for (earlier, _), (later, _) in pairwise(pairs)) >= 60


def test_a_new_authority_does_not_sign_before_it_is_trusted_everywhere(cluster: Cluster) -> None:
    """A definition that cannot be written holds the change up, and breaks nothing."""
    cluster.now += SHORT.authority.total_seconds() * 0.7
    old = cluster.bundle
    for _ in range(5):
        step = cluster.trust.step(cluster.material, [cluster.material.authorities, old], cluster.now)
        cluster.material = step.material
        (certificate,) = certificates_in(cluster.material.pair.certificate)
        assert any(_has_signed(each, certificate) for each in certificates_in(old))
        cluster.now += 60


@pytest.mark.parametrize("clock", [-86_400, 86_400])
def test_a_clock_may_be_off_by_a_day(clock: float, cluster: Cluster) -> None:
    """That of the leader; what it makes is valid for the others."""
    fresh = Cluster()
    fresh.now += clock
    fresh.settle()
    fresh.now -= clock
    assert fresh.is_served(fresh.material.pair)
    # another leader comes, whose clock is right
    fresh.settle()
    assert fresh.is_served(fresh.material.pair)


def test_a_lost_secret_leaves_the_old_authority_trusted(cluster: Cluster) -> None:
    """Replicas serve on with what it has signed, until there is something new."""
    old = cluster.material.pair
    cluster.material = Material()
    cluster.look()
    assert cluster.is_served(old)
    cluster.settle()
    assert cluster.material.pair not in (old, NO_PAIR)
    assert cluster.is_served(old)
    assert cluster.is_served(cluster.material.pair)


def _spoiled(material: Material, random: Random) -> Material:
    other = new_pair("shop-webhook", NOW, timedelta(days=1))
    strange = new_pair("other", NOW, timedelta(days=1), hosts=("h",), issuer=other)
    texts = (b"", b"x", b"-----BEGIN CERTIFICATE-----\nx", other.certificate, other.key, strange.certificate)
    which = random.choice(["authorities", "key", "certificate", "pair key"])
    text = random.choice(texts)
    if which == "certificate":
        return material._replace(pair=material.pair._replace(certificate=text))
    if which == "pair key":
        return material._replace(pair=material.pair._replace(key=text))
    return material._replace(key=text) if which == "key" else material._replace(authorities=text)


@pytest.mark.parametrize("seed", range(12))
def test_whatever_somebody_writes_into_the_secret_is_put_right(cluster: Cluster, seed: int) -> None:
    """And what replicas serve with stays trusted."""
    random, served = Random(seed), cluster.material.pair
    for _ in range(3):
        cluster.material = _spoiled(cluster.material, random)
        cluster.look()
        assert cluster.is_served(served), "a replica that has read nothing since"
    cluster.settle()
    assert cluster.is_served(cluster.material.pair)


def test_a_bundle_that_somebody_empties_or_changes_is_put_right(cluster: Cluster) -> None:
    """Authorities of others are not taken over."""
    other = new_pair("somebody-else", NOW, timedelta(days=1))
    cluster.bundle = other.certificate + b"garbage"
    cluster.look()
    assert cluster.is_served(cluster.material.pair)
    assert other.certificate not in cluster.bundle


def test_other_hosts_need_another_pair(cluster: Cluster) -> None:
    """Such as after a change of the namespace."""
    moved = dataclasses.replace(TRUST, hosts=("127.0.0.1", "shop.example.org"))
    cluster.trust, old = moved, cluster.material.pair
    cluster.look()
    assert cluster.material.pair != old
    assert cluster.is_served(cluster.material.pair)


@pytest.mark.parametrize("hours", [30, 240])
def test_an_authority_dated_by_a_clock_far_ahead_is_replaced_once(hours: int) -> None:
    """The clock is set back; later it passes the date of the old authority, which must not be first again."""
    cluster = Cluster()
    cluster.now += hours * 3600
    cluster.settle()
    cluster.now -= hours * 3600
    cluster.settle()
    keys = set()
    for _ in range(40 * 4):
        cluster.look()
        keys.add(cluster.material.key)
        assert cluster.is_served(cluster.material.pair)
        assert len(certificates_in(cluster.bundle)) <= 3
        cluster.now += 900
    assert len(keys) < 10, "an authority lasts for hours"


def test_a_pair_dated_by_a_clock_far_ahead_is_replaced() -> None:
    """The authority is older, and stays: only the pair is not valid yet."""
    cluster = Cluster(dataclasses.replace(TRUST, lifetimes=Lifetimes(certificate=timedelta(hours=1))))
    cluster.settle()
    authority = cluster.material.key
    cluster.now += 48 * 3600
    cluster.settle()
    cluster.now -= 48 * 3600
    cluster.settle()
    assert cluster.is_served(cluster.material.pair)
    assert cluster.material.key == authority
