"""Services. The scene "services" has what a real server makes of others."""

from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.rules.service_rules import address_causes, ip_address, service_notices


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"clusterIP": "None", "clusterIPs": ["None"]},
        {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"]},
        {"clusterIP": "::1", "clusterIPs": ["::1", "10.0.0.1"], "ipFamilies": ["IPv6", "IPv4"]},
    ],
)
def test_addresses_that_agree(spec: dict[str, Any]) -> None:
    """None alone, one address, or one of each family in the order of the families."""
    assert address_causes(spec) == []


@pytest.mark.parametrize(
    ("spec", "field", "text"),
    [
        (
            {"clusterIP": "10.0.0.2", "clusterIPs": ["10.0.0.1"]},
            "spec.clusterIPs",
            "first value must match `clusterIP`",
        ),
        (
            {"clusterIP": "None", "clusterIPs": ["None", "::1"]},
            "spec.clusterIPs",
            "'None' must be the first and only value",
        ),
        (
            {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1", "10.0.0.2"]},
            "spec.clusterIPs",
            "may specify no more than one IP for each IP family",
        ),
        (
            {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv6"]},
            "spec.clusterIPs[0]",
            "expected an IPv6 value as indicated by `ipFamilies[0]`",
        ),
        ({"ipFamilies": ["IPv4", "IPv4"]}, "spec.ipFamilies[1]", 'Duplicate value: "IPv4"'),
        (
            {"clusterIP": "::1", "clusterIPs": ["::1", "10.0.0.1", "::2"]},
            "spec.clusterIPs",
            "may only hold up to 2 values",
        ),
    ],
)
def test_addresses_that_do_not(spec: dict[str, Any], field: str, text: str) -> None:
    """All other problems are reported by their field."""
    (cause,) = address_causes(spec)
    assert cause.field == field
    assert text in cause.message


def test_one_address() -> None:
    """IPv4 and IPv6."""
    assert ip_address("x", "10.0.0.1") + ip_address("x", "2001:db8::1") == []
    assert [cause.field for cause in ip_address("x", "10.0.0")] == ["x"]


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
def test_its_reports(spec: dict[str, Any], told: list[str]) -> None:
    """A Service with ignored or deprecated fields is accepted with warnings."""
    assert list(service_notices({"metadata": {}, "spec": spec}, None)) == told
