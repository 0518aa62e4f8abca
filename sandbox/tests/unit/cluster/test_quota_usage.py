from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.cluster.quota_usage import (
    SERVICES,
    counted_collection,
    grown,
    is_about,
    lacking,
    usage,
)
from handloop_sandbox.cluster.storage_protection import CLAIMS
from handloop_sandbox.cluster.workloads import PODS
from handloop_sandbox.wire.resource import GroupResource


@pytest.mark.parametrize(
    ("name", "collection"),
    [
        ("configmaps", GroupResource("", "configmaps")),
        ("count/configmaps", GroupResource("", "configmaps")),
        ("count/widgets.example.org", GroupResource("example.org", "widgets")),
        ("requests.cpu", PODS),
        ("requests.example.com/gpu", PODS),
        ("hugepages-2Mi", PODS),
        ("services.nodeports", SERVICES),
        ("requests.storage", CLAIMS),
        ("gold.storageclass.storage.k8s.io/persistentvolumeclaims", CLAIMS),
        ("example.com/gpu", None),
        ("storage", None),
    ],
)
def test_what_a_name_counts(name: str, collection: GroupResource | None) -> None:
    """Names count collections, or amounts of the objects of one."""
    assert counted_collection(name) == collection


def _pod(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    named = [{"name": f"c{index}", **each} for index, each in enumerate(containers)]
    return {"spec": {"containers": named, **spec}, "status": {"qosClass": "Burstable"}}


def _asks(limits: dict[str, str] | None = None, **requests: str) -> dict[str, Any]:
    return {"resources": {"requests": requests, "limits": limits or {}}}


def test_a_pod_uses_what_its_containers_ask_for() -> None:
    """Requests have two names, limits one; what has no domain of a quota has none."""
    pod = _pod(_asks(cpu="100m", limits={"memory": "1Gi", "example.com/gpu": "1"}), _asks(cpu="1"))
    assert usage(PODS, pod) == {
        "count/pods": "1",
        "pods": "1",
        "cpu": "1100m",
        "requests.cpu": "1100m",
        "limits.memory": "1Gi",
    }
    ended = {**pod, "status": {"phase": "Failed"}}
    assert usage(PODS, ended) == {"count/pods": "1"}


@pytest.mark.parametrize(
    ("spec", "ports", "balanced"),
    [
        ({}, "0", "0"),
        ({"type": "NodePort"}, "2", "0"),
        ({"type": "LoadBalancer"}, "2", "1"),
        ({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}, "0", "1"),
    ],
)
def test_a_service_uses_ports_of_nodes(spec: dict[str, Any], ports: str, balanced: str) -> None:
    """Each port of a Service that is open on the nodes, and each load balancer."""
    found = usage(SERVICES, {"spec": {"ports": [{}, {}], **spec}})
    assert (found["services.nodeports"], found["services.loadbalancers"]) == (ports, balanced)


def test_a_claim_uses_storage_of_its_class() -> None:
    """By the name of all claims, and by that of the class."""
    spec = {"storageClassName": "gold", **_asks(storage="5Gi")}
    assert usage(CLAIMS, {"spec": spec}) == {
        "count/persistentvolumeclaims": "1",
        "persistentvolumeclaims": "1",
        "requests.storage": "5Gi",
        "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
        "gold.storageclass.storage.k8s.io/requests.storage": "5Gi",
    }


def test_only_what_grows_is_asked_for() -> None:
    """A change that uses less, or as much, asks for nothing."""
    assert grown({"a": "3", "b": "1", "c": "0", "d": "1Gi"}, {"a": "1", "b": "1", "d": "512Mi"}) == {
        "a": "2",
        "d": "512Mi",
    }


@pytest.mark.parametrize(
    ("term", "inside"),
    [
        ({"scopeName": "Terminating", "operator": "Exists"}, True),
        ({"scopeName": "NotTerminating", "operator": "Exists"}, False),
        ({"scopeName": "BestEffort", "operator": "Exists"}, False),
        ({"scopeName": "NotBestEffort", "operator": "Exists"}, True),
        ({"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}, True),
        ({"scopeName": "PriorityClass", "operator": "NotIn", "values": ["high"]}, False),
        ({"scopeName": "PriorityClass", "operator": "Exists"}, True),
        ({"scopeName": "PriorityClass", "operator": "DoesNotExist"}, False),
        ({"scopeName": "CrossNamespacePodAffinity", "operator": "Exists"}, True),
        ({"scopeName": "VolumeAttributesClass", "operator": "Exists"}, False),
    ],
)
def test_scopes(term: dict[str, Any], inside: bool) -> None:
    """A quota with a scope is about some pods, and about nothing else."""
    rule: dict[str, Any] = {"podAffinityTerm": {"namespaceSelector": {}}}
    affinity = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [rule]}}
    pod = _pod({}, activeDeadlineSeconds=5, priorityClassName="high", affinity=affinity)
    quota = {"spec": {"scopeSelector": {"matchExpressions": [term]}}}
    assert is_about(quota, PODS, pod) is inside
    assert not is_about(quota, SERVICES, {"spec": {}})
    assert is_about({"spec": {}}, SERVICES, {"spec": {}})


def test_each_container_has_to_ask() -> None:
    """What a quota has of cpu and memory, each container says, unless the pod as a whole does."""
    hard = {"limits.memory": "1Gi", "requests.cpu": "1", "pods": "1", "requests.ephemeral-storage": "1"}
    pod = _pod(_asks(cpu="1"), _asks(limits={"memory": "1"}), initContainers=[{"name": "first"}])
    assert lacking(hard, pod) == "limits.memory for: c0,first; requests.cpu for: c1,first"
    assert not lacking({"pods": "1"}, pod)
    assert not lacking(hard, _pod({}, **_asks(cpu="1")))
