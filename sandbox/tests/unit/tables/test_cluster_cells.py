from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.tables.cluster_cells import (
    created_cells,
    endpoint_slice_cells,
    event_cells,
    node_cells,
    quota_cells,
    service_cells,
)
from support.recorded.object_cases import check_row
from support.recorded.recordings import rows, told

_NOW = 1_700_000_060.0
_STAMP = "2023-11-14T22:13:20Z"


@pytest.mark.parametrize(
    "line",
    rows(
        "clusterroles",
        "configmaps",
        "endpointslices",
        "events",
        "leases",
        "limitranges",
        "namespaces",
        "nodes",
        "resourcequotas",
        "roles",
        "secrets",
        "serviceaccounts",
        "services",
    ),
    ids=told,
)
def test_rows_are_as_recorded(line: dict[str, Any]) -> None:
    """The cells a real server shows of these objects."""
    check_row(line)


@pytest.mark.parametrize(
    ("spec", "ingress", "shown"),
    [
        ({"type": "ClusterIP"}, [], "<none>"),
        ({"type": "NodePort", "externalIPs": ["1.2.3.4"]}, [], "1.2.3.4"),
        ({"type": "LoadBalancer"}, [], "<pending>"),
        ({"type": "LoadBalancer", "externalIPs": ["1.2.3.4"]}, [{"ip": "5.6.7.8"}], "5.6.7.8,1.2.3.4"),
        ({"type": "ExternalName", "externalName": "example.org"}, [], "example.org"),
    ],
)
def test_external_addresses_of_services(
    spec: dict[str, Any], ingress: list[dict[str, str]], shown: str
) -> None:
    """Each type has its own idea of an external address."""
    status = {"loadBalancer": {"ingress": ingress}}
    assert service_cells({"metadata": {"name": "s"}, "spec": spec, "status": status}, _NOW)[3] == shown


def test_ports_of_services() -> None:
    """A node port stands between the port and the protocol."""
    ports = [{"port": 80, "protocol": "TCP"}, {"port": 443, "nodePort": 30000, "protocol": "TCP"}]
    spec = {"type": "NodePort", "ports": ports}
    assert service_cells({"metadata": {"name": "s"}, "spec": spec}, _NOW)[4] == "80/TCP,443:30000/TCP"


def test_an_event_of_the_new_style_counts_in_its_series() -> None:
    """Last seen and count come from the series; without one the event happened once, at eventTime."""
    event: dict[str, Any] = {
        "metadata": {"name": "e"},
        "eventTime": "2023-11-14T22:13:20.000000Z",
        "regarding": {"kind": "Pod", "name": "p"},
        "reportingController": "c",
        "note": " text\n",
    }
    once = ["60s", "", "", "pod/p", "", "c", "text", "60s", 1, "e"]
    assert event_cells(event, _NOW) == once
    event["series"] = {"count": 3, "lastObservedTime": "2023-11-14T22:14:00.000000Z"}
    assert event_cells(event, _NOW) == ["20s", *once[1:8], 3, "e"]


def test_long_lists_of_endpoints_are_cut() -> None:
    """Three are shown, and how many more there are."""
    found = {"metadata": {"name": "e"}, "endpoints": [{"addresses": [f"10.0.0.{i}"]} for i in range(5)]}
    assert endpoint_slice_cells(found, _NOW)[3] == "10.0.0.0,10.0.0.1,10.0.0.2 + 2 more..."


def test_an_empty_endpoint_slice() -> None:
    """Neither ports nor endpoints are unset; a port without a number is any."""
    found: dict[str, Any] = {"metadata": {"name": "e"}, "addressType": "IPv4"}
    assert endpoint_slice_cells(found, _NOW)[2:4] == ["<unset>", "<unset>"]
    assert endpoint_slice_cells({**found, "ports": [{}]}, _NOW)[2] == "*"


@pytest.mark.parametrize(
    ("ready", "spec", "word"),
    [
        ("True", {}, "Ready"),
        ("False", {}, "NotReady"),
        ("Unknown", {"unschedulable": True}, "NotReady,SchedulingDisabled"),
        (None, {}, "Unknown"),
    ],
)
def test_status_of_nodes(ready: str | None, spec: dict[str, Any], word: str) -> None:
    """The Ready condition in one word, and whether pods may come."""
    conditions = [{"type": "Ready", "status": ready}] if ready else []
    labels = {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "edge"}
    node = {
        "metadata": {"name": "n", "labels": labels},
        "spec": spec,
        "status": {"conditions": conditions},
    }
    assert node_cells(node, _NOW)[1:3] == [word, "edge,worker"]


def test_kinds_without_columns_show_their_creation() -> None:
    """The time itself, not an age."""
    assert created_cells({"metadata": {"name": "a", "creationTimestamp": _STAMP}}, _NOW) == ["a", _STAMP]


_LATER = 1_700_000_000.0
_AGE = "<unknown>"


def test_a_quota_shows_requests_and_limits_apart() -> None:
    """Used and hard amounts; those of limits have a column of their own."""
    status = {"hard": {"pods": "10", "limits.cpu": "4"}, "used": {"pods": "1", "limits.cpu": "0"}}
    quota = {"metadata": {"name": "q"}, "status": status}
    cells = quota_cells(quota, _LATER)
    assert [cell for cell in cells if "/" in str(cell)] == ["pods: 1/10", "limits.cpu: 0/4"]
