"""Foo."""

from __future__ import annotations

import msgspec
import pytest

from handloop.apis.meta import decode_hook
from handloop.controller.foo.types import Foo, FooStatus

decode = msgspec.json.Decoder(Foo, dec_hook=decode_hook).decode


def test_a_foo_is_read() -> None:
    """Name and number that are wanted, and the number that was seen."""
    foo = decode(b'{"spec": {"deploymentName": "web", "replicas": 2}, "status": {"availableReplicas": 1}}')
    assert (foo.spec.deployment_name, foo.spec.replicas, foo.status.available_replicas) == ("web", 2, 1)


def test_an_empty_foo_has_no_wishes() -> None:
    """Without a spec there is no Deployment to make, and the controller reports that."""
    foo = decode(b"{}")
    assert (foo.spec.deployment_name, foo.spec.replicas) == ("", None)


@pytest.mark.parametrize("replicas", [-1, 0, 11, 2**31])
def test_replicas_out_of_bounds_do_not_decode(replicas: int) -> None:
    """A Foo stored under another schema is refused with its path, not acted on."""
    with pytest.raises(msgspec.ValidationError, match=r"spec\.replicas"):
        decode(b'{"spec": {"deploymentName": "web", "replicas": %d}}' % replicas)


def test_status_always_has_its_number() -> None:
    """Zero available replicas is a statement, and another one than none."""
    assert msgspec.json.encode(FooStatus(available_replicas=0)) == b'{"availableReplicas":0}'
    assert decode(b'{"status": {"availableReplicas": 0}}').status == FooStatus(available_replicas=0)
    assert (
        decode(b'{"status": {}}').status
        == decode(b"{}").status
        == FooStatus()
        != FooStatus(available_replicas=0)
    )
    assert msgspec.json.encode(FooStatus()) == b"{}"
