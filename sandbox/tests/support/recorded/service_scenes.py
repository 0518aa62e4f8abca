"""Requests about the addresses, ports and types of services."""

from __future__ import annotations

from typing import Any, Final

from support.recorded.scene_steps import BASE, named, patch, post, put, read
from support.recorded.stories import Step
from support.servers.api_server import APPLY

_SERVICES: Final = f"{BASE}/services"
_PORTS: Final = [{"port": 80}]
_BAD: Final = {"labels": {"bad key!": "x"}}
_NEW: Final[tuple[dict[str, Any], ...]] = (
    {"clusterIP": "not-an-ip"},
    {"clusterIP": "not-an-ip", "ports": _PORTS},
    {"clusterIPs": ["None", "1.2.3.4"]},
    {"clusterIP": "1.2.3.4", "ports": _PORTS},
    {"clusterIP": "::1", "ports": _PORTS},
    {"clusterIP": "", "clusterIPs": ["1.2.3.4"], "ports": _PORTS},
    {"ipFamilies": ["IPv6"], "ports": _PORTS},
    {"ipFamilies": ["X"], "ports": _PORTS},
    {"ipFamilyPolicy": "X", "ports": _PORTS},
    {"ipFamilyPolicy": "RequireDualStack", "ports": _PORTS},
    {"type": "NodePort", "ports": [{"port": 80, "nodePort": 1}]},
    {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30045}, {"port": 81, "nodePort": 30045}]},
    {"type": "Odd", "ports": _PORTS},
    {"clusterIP": "None", "type": "NodePort", "ports": _PORTS},
    {"type": "ExternalName", "externalName": "a.b", "clusterIP": "None"},
    {"type": "ExternalName", "externalName": "a.b", "ipFamilies": ["IPv4"]},
    {"type": "ExternalName"},
    {"externalTrafficPolicy": "Local", "ports": _PORTS},
    {"type": "LoadBalancer", "loadBalancerSourceRanges": ["x"], "ports": _PORTS},
    {"internalTrafficPolicy": "x", "ports": _PORTS},
    {"trafficDistribution": "x", "ports": _PORTS},
    {"loadBalancerClass": "x", "ports": _PORTS},
    {"allocateLoadBalancerNodePorts": False, "ports": _PORTS},
    {"ports": [{"port": 80, "nodePort": 30046}]},
)
_CHANGED: Final[tuple[dict[str, Any], ...]] = (
    {"clusterIP": "not-an-ip"},
    {"clusterIP": "10.0.0.9"},
    {"clusterIP": "None"},
    {"clusterIP": None, "clusterIPs": None},
    {"ipFamilies": ["IPv6"]},
    {"ipFamilyPolicy": "RequireDualStack"},
    {"ipFamilyPolicy": "PreferDualStack"},
    {"type": "ExternalName", "externalName": "a.b"},
    {"ports": []},
    {"externalTrafficPolicy": "Local"},
    {"healthCheckNodePort": 30047},
    {"loadBalancerClass": "x/y"},
)


def _new(name: str, **spec: Any) -> Step:
    return post(_SERVICES, {**named(name), "spec": {"ports": _PORTS, **spec}})


def _change(name: str, **spec: Any) -> Step:
    return patch(f"{_SERVICES}/{name}", {"spec": spec})


SERVICES: Final = [
    post(f"{_SERVICES}?dryRun=All", {"metadata": metadata, "spec": spec})
    for spec in _NEW
    for metadata in ({"name": "a"}, {"name": "a", **_BAD}, {})
]
SERVICE_CHANGES: Final = [
    _new("s"),
    *(
        patch(f"{_SERVICES}/s?dryRun=All", {"metadata": metadata, "spec": spec})
        for spec in _CHANGED
        for metadata in ({}, _BAD)
    ),
    _change("s", type="NodePort"),
    _change("s", type="ClusterIP"),
    _change("s", type="LoadBalancer"),
    read(f"{_SERVICES}/s"),
    _change("s", type="ExternalName", externalName="a.b"),
    _change("s", type="ClusterIP"),
    _change("s", type="LoadBalancer", externalTrafficPolicy="Local"),
    _change("s", type="ClusterIP"),
    _change("s", type="NodePort", ports=[{"port": 80, "nodePort": 30048}]),
    _change("s", ports=[{"port": 81, "nodePort": 30048}]),
    _change("s", ports=[{"port": 81, "name": "a"}, {"port": 82, "name": "b"}]),
    put(
        f"{_SERVICES}/s",
        {
            **named("s"),
            "spec": {"type": "NodePort", "ports": [{"port": 81, "name": "a"}, {"port": 83, "name": "b"}]},
        },
    ),
    put(f"{_SERVICES}/s", {**named("s"), "spec": {"ports": [{"port": 81}]}}),
    _new("h", clusterIP="None"),
    _change("h", selector={"a": "b"}),
    _change("h", ipFamilyPolicy="SingleStack"),
    _new("f", type="LoadBalancer", allocateLoadBalancerNodePorts=False),
    _change("f", loadBalancerClass="a/b"),
    _change("f", type="ClusterIP"),
    _change("f", externalIPs=["1.2.3.4"]),
    _change("f", externalTrafficPolicy="Local"),
    _change("f", externalIPs=None),
]
SERVICE_PORTS: Final = [
    _new("a", type="NodePort", ports=[{"port": 80, "nodePort": 1}]),
    _new("a", type="NodePort", ports=[{"port": 80, "nodePort": 30041}]),
    _new("b", type="NodePort", ports=[{"port": 80, "nodePort": 30041}]),
    post(
        f"{_SERVICES}?dryRun=All",
        {**named("c"), "spec": {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30041}]}},
    ),
    _new(
        "b",
        type="NodePort",
        ports=[
            {"port": 80, "nodePort": 30042, "name": "x"},
            {"port": 80, "nodePort": 30042, "name": "y", "protocol": "UDP"},
        ],
    ),
    _change("b", ports=[{"port": 80, "nodePort": 30043, "name": "x"}]),
    _new("d", type="NodePort", ports=[{"port": 80, "nodePort": 30042}]),
    _new("e", type="NodePort", ports=[{"port": 80, "nodePort": 30043}]),
    patch(
        f"{_SERVICES}/j?fieldManager=z",
        {"apiVersion": "v1", "kind": "Service", **named("j"), "spec": {"type": "NodePort", "ports": _PORTS}},
        APPLY,
    ),
    patch(
        f"{_SERVICES}/j?fieldManager=z",
        {"apiVersion": "v1", "kind": "Service", **named("j"), "spec": {"ports": [{"port": 81}]}},
        APPLY,
    ),
]
