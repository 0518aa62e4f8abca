"""Leases."""

from __future__ import annotations

import msgspec

from handloop.apis.coordination_v1 import Lease, LeaseSpec
from handloop.apis.meta import ObjectMeta, decode_hook


def test_a_held_lease_survives_the_wire() -> None:
    """Every field of the spec: a PUT must not lose one. Times have microseconds."""
    lease = Lease(
        metadata=ObjectMeta(name="leader", namespace="kube-system"),
        spec=LeaseSpec(
            holder_identity="pod-a",
            lease_duration_seconds=15,
            acquire_time="2026-01-01T00:00:00.000000Z",
            renew_time="2026-01-01T00:00:02.500000Z",
            lease_transitions=3,
            strategy="OldestEmulationVersion",
            preferred_holder="pod-b",
        ),
    )
    body = msgspec.json.encode(lease)
    assert msgspec.json.decode(body)["spec"]["leaseDurationSeconds"] == 15
    assert msgspec.json.decode(body, type=Lease, dec_hook=decode_hook) == lease


def test_missing_fields_are_absent() -> None:
    """A lease without a holder sends no empty fields."""
    lease = msgspec.json.decode(
        b'{"metadata": {"name": "leader"}, "spec": {}}', type=Lease, dec_hook=decode_hook
    )
    assert lease.spec == LeaseSpec()
    assert lease.spec.holder_identity is None
