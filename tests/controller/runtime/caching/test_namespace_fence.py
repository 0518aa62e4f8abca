"""Nothing is written into a namespace that is watched no longer."""

from __future__ import annotations

import pytest

from handloop.client.errors import Cancelled
from handloop.controller.runtime.caching.namespace_fence import NamespaceFence
from support.doubles.scripted_transport import ScriptedTransport, answer

MAPS = "namespaces/gone/configmaps"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", f"/api/v1/{MAPS}"),
        ("PATCH", f"/apis/example.com/v1/{MAPS}/a/status"),
        ("DELETE", f"/api/v1/{MAPS}/a"),
    ],
)
def test_a_write_into_it_is_not_sent(method: str, path: str) -> None:
    """Its outcome is known."""
    transport = ScriptedTransport([], [])
    with pytest.raises(Cancelled, match="namespace gone is no longer watched: nothing was sent") as raised:
        NamespaceFence(transport, {"gone"}.__contains__).request(method, path, body=b"{}")
    assert not raised.value.outcome_unknown
    assert transport.sent == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", f"/api/v1/{MAPS}/a"),
        ("POST", "/api/v1/namespaces/other/configmaps"),
        ("PATCH", "/api/v1/namespaces/gone"),
        ("PATCH", "/api/v1/namespaces/gone/status"),
        ("PATCH", "/apis/example.com/v1/teams/gone"),
    ],
)
def test_everything_else_passes(method: str, path: str) -> None:
    """Reads, other namespaces, the namespace itself, and what is in none."""
    transport = ScriptedTransport([answer()], [])
    NamespaceFence(transport, {"gone"}.__contains__).request(method, path, body=b"{}")
    assert len(transport.sent) == 1
