from __future__ import annotations

from typing import Any

import pytest

from handloop.sandbox.rules.service_notices import service_notices


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"type": "ClusterIP", "clusterIP": "10.0.0.1"}, []),
        (
            {"type": "ClusterIP", "clusterIP": "None", "sessionAffinity": "ClientIP"},
            ["spec.SessionAffinity is ignored for headless services"],
        ),
        (
            {"type": "ClusterIP", "externalName": "x"},
            ['spec.externalName is ignored when spec.type is not "ExternalName"'],
        ),
        (
            {"type": "ClusterIP", "externalIPs": ["192.0.2.1"]},
            ["spec.externalIPs is deprecated and may no longer be implemented in some clusters"],
        ),
        (
            {"type": "ExternalName", "externalName": "x", "externalIPs": ["192.0.2.1"]},
            ['spec.externalIPs is ignored when spec.type is "ExternalName"'],
        ),
    ],
)
def test_what_is_told(spec: dict[str, Any], told: list[str]) -> None:
    """A Service that says what is ignored or deprecated is accepted with warnings."""
    assert list(service_notices({"metadata": {}, "spec": spec})) == told
