"""A LeaseCandidate on the sandbox, where it is a custom resource: made, and renewed when asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from handloop.apis.coordination_v1beta1 import OLDEST_EMULATION_VERSION, LeaseCandidate, LeaseCandidateSpec
from handloop.apis.meta import format_micro_time
from handloop.client.errors import NotFound
from handloop.client.resource_client import Client, PatchType
from handloop.controller.runtime.election.coordinated_election import REQUEUE_SECONDS, CandidateRegistration
from handloop.controller.runtime.election.lease_access import leader_election_access
from handloop.controller.runtime.rbac.roles import roles
from handloop.controller.runtime.runnable import Runnable, needs_leader_election
from handloop.testing.eventually import SECONDS
from handloop.testing.request_trace import RequestTrace, no_streaming_lists
from handloop.testing.role_grants import grants, refused, unused
from handloop.workqueue.seams import Seams
from support.captured_logs import captured_logs
from support.deadline import until
from support.fake_clock import FakeClock
from support.managed_sandbox import ManagedSandbox
from support.threads import Background

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_NAMES = {"kind": "LeaseCandidate", "plural": "leasecandidates", "singular": "leasecandidate"}
_ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "leasecandidates.coordination.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, experimental-only"},
    },
    "spec": {
        "group": "coordination.k8s.io",
        "scope": "Namespaced",
        "names": _NAMES,
        "versions": [
            {"name": "v1beta1", "served": True, "storage": True, "schema": {"openAPIV3Schema": _ANYTHING}}
        ],
    },
}


class Rig:
    """A cluster, a clock, and the candidate baz for the lease foo."""

    def __init__(self) -> None:
        self.cluster = ManagedSandbox()
        self.cluster.post(_CRDS, DEFINITION)
        self.trace = RequestTrace(self.cluster.sandbox.engine, "admin")
        self.trace.refuse = no_streaming_lists
        self.clock = FakeClock()
        control_plane = Client(self.cluster.transport(), user_agent="control-plane")
        self.candidates = control_plane.resource(LeaseCandidate)
        self.registration = CandidateRegistration(
            Client(self.cluster.transport(), user_agent="handloop/test", stop=self.cluster.stop),
            namespace="default",
            name="baz",
            lease_name="foo",
            binary_version="1.2.3",
            seams=Seams(clock=self.clock),
        )
        self.running = Background(lambda: self.registration.run(self.cluster.stop))

    def spec(self) -> LeaseCandidateSpec | None:
        """What the candidate says; None when there is none."""
        try:
            return self.candidates.get("baz", namespace="default").spec
        except NotFound:
            return None

    def wait(self, is_so: Callable[[LeaseCandidateSpec], bool]) -> LeaseCandidateSpec:
        """Wait until the candidate says so."""

        def look() -> LeaseCandidateSpec | None:
            spec = self.spec()
            return spec if spec is not None and is_so(spec) else None

        found = until(look, "so", seconds=SECONDS)
        assert found is not None
        return found

    def ping(self, at: float) -> None:
        """Ask for a sign of life, as the control plane does."""
        patch: Any = {"spec": {"pingTime": format_micro_time(at)}}
        self.candidates.patch("baz", patch, namespace="default", patch_type=PatchType.MERGE)

    def renewed_at(self, unix: float) -> Callable[[LeaseCandidateSpec], bool]:
        """Whether a candidate was renewed at a time."""
        return lambda spec: spec.renew_time == format_micro_time(unix)


@pytest.fixture
def rig() -> Iterator[Rig]:
    """A candidate that registers."""
    made = Rig()
    yield made
    made.cluster.stop.set()
    made.running.result()


def test_a_candidate_is_created_when_missing(rig: Rig) -> None:
    """LE-23: with its lease, its versions and its strategy, and a first sign of life."""
    assert rig.wait(bool) == LeaseCandidateSpec(
        lease_name="foo",
        renew_time=format_micro_time(rig.clock.time()),
        binary_version="1.2.3",
        emulation_version="1.2.3",
        strategy=OLDEST_EMULATION_VERSION,
    )


def test_a_ping_later_than_the_last_renewal_is_answered(rig: Rig) -> None:
    """LE-23: renewTime moves; the ping and the rest stay."""
    first = rig.wait(bool)
    begun = rig.clock.time()
    rig.clock.advance(30.0)
    rig.ping(begun + 30.0)
    answered = rig.wait(rig.renewed_at(begun + 30.0))
    assert answered.ping_time == format_micro_time(begun + 30.0)
    assert answered.lease_name == first.lease_name


def test_a_ping_that_was_answered_already_is_not_answered_again(rig: Rig) -> None:
    """LE-23: renewTime is not earlier; an update for each of our own updates would never end."""
    rig.wait(bool)
    begun = rig.clock.time()
    rig.ping(begun)
    rig.clock.advance(60.0)
    rig.ping(begun + 50.0)  # the informer sees the pings in this order, and answers the second one
    rig.wait(rig.renewed_at(begun + 60.0))
    version = rig.candidates.get("baz", namespace="default").metadata.resource_version
    rig.clock.advance(1.0)
    rig.ping(begun + 50.5)
    assert rig.wait(bool).renew_time == format_micro_time(begun + 60.0)
    assert int(rig.candidates.get("baz", namespace="default").metadata.resource_version) == int(version) + 1


def test_without_a_ping_it_is_renewed_every_five_minutes(rig: Rig) -> None:
    """LE-23: or the control plane would clear it away."""
    rig.wait(bool)
    begun = rig.clock.time()
    rig.clock.wait_for_deadline(rig.clock.now() + REQUEUE_SECONDS)
    rig.clock.advance(REQUEUE_SECONDS)
    rig.wait(rig.renewed_at(begun + REQUEUE_SECONDS))


def test_a_manager_runs_it_whoever_leads(rig: Rig) -> None:
    """Who does not lead has to be a candidate, too."""
    runnable: Runnable = rig.registration
    assert runnable.name == "leasecandidate"
    assert not needs_leader_election(runnable)


def test_one_that_was_deleted_is_made_again(rig: Rig) -> None:
    """Who is not registered is never chosen."""
    rig.wait(bool)
    informer = rig.registration._informers.informer_for(LeaseCandidate)
    until(lambda: informer.indexer.get_by_key("default/baz"), "in the cache", seconds=SECONDS)
    rig.clock.advance(7.0)
    rig.candidates.delete("baz", namespace="default")
    rig.wait(rig.renewed_at(rig.clock.time()))


def test_a_server_that_does_not_know_candidates_is_asked_again() -> None:
    """It is said, with back-off, and there is no end: the definition may come."""
    cluster, clock = ManagedSandbox(), FakeClock()
    registration = CandidateRegistration(
        cluster.client,
        namespace="default",
        name="baz",
        lease_name="foo",
        binary_version="1.2.3",
        seams=Seams(clock=clock),
    )
    with captured_logs() as entries:
        running = Background(lambda: registration.run(cluster.stop))

        def complaints() -> int:
            clock.advance(0.1)
            return sum("lease candidate" in entry["event"] for entry in entries)

        until(lambda: complaints() >= 3, "said again", seconds=SECONDS)
        cluster.stop.set()
        running.result()


def test_a_candidate_asks_for_what_is_declared_and_nothing_else(rig: Rig) -> None:
    """S01: made, read, watched and renewed; both ways."""
    rig.wait(bool)
    rig.ping(rig.clock.time() + 1.0)
    rig.clock.advance(2.0)
    rig.wait(rig.renewed_at(rig.clock.time()))
    asked = rig.trace.asked()
    declared = leader_election_access("foo", "default", coordinated=True)
    granted = [grant for grant in grants(roles(declared)) if grant.resource == "leasecandidates"]
    assert granted
    assert refused(asked, granted) == set()
    assert unused(asked, granted) == set()
