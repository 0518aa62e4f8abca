"""Candidates for a lease."""

from __future__ import annotations

import msgspec

from handloop.apis.coordination_v1beta1 import OLDEST_EMULATION_VERSION, LeaseCandidate, LeaseCandidateSpec
from handloop.apis.meta import ObjectMeta, decode_hook


def test_a_candidate_survives_the_wire() -> None:
    """Every field of the spec: a PUT must not lose one. Times have microseconds."""
    candidate = LeaseCandidate(
        metadata=ObjectMeta(name="pod-a", namespace="kube-system"),
        spec=LeaseCandidateSpec(
            lease_name="leader",
            ping_time="2026-01-01T00:00:02.000000Z",
            renew_time="2026-01-01T00:00:02.500000Z",
            binary_version="1.2.3",
            emulation_version="1.2.0",
            strategy=OLDEST_EMULATION_VERSION,
        ),
    )
    body = msgspec.json.encode(candidate)
    assert msgspec.json.decode(body)["spec"]["leaseName"] == "leader"
    assert msgspec.json.decode(body, type=LeaseCandidate, dec_hook=decode_hook) == candidate


def test_one_that_was_never_asked_says_so() -> None:
    """Without a ping there is no pingTime."""
    body = b'{"metadata": {"name": "pod-a"}, "spec": {"leaseName": "leader"}}'
    candidate = msgspec.json.decode(body, type=LeaseCandidate, dec_hook=decode_hook)
    assert candidate.spec == LeaseCandidateSpec(lease_name="leader")
