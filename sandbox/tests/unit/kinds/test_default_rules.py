from __future__ import annotations

import copy
from typing import Any

import pytest

from handloop_sandbox.kinds.default_rules import RULES, pull_policy, tag_of
from handloop_sandbox.kinds.kind_table import named_schema

_CORE, _APPS = "api.core.v1", "api.apps.v1"


@pytest.mark.parametrize("kind", RULES)
def test_every_rule_is_for_a_type_that_exists_and_does_nothing_twice(kind: str) -> None:
    """The rule of a type is found by its name, and what it has completed is complete."""
    assert named_schema(kind) is not None
    done = RULES[kind]({})
    assert RULES[kind](done) == done


@pytest.mark.parametrize(
    ("kind", "given", "added"),
    [
        (
            f"{_APPS}.DeploymentSpec",
            {"strategy": {"rollingUpdate": {"maxSurge": 1}}},
            {
                "strategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": 1},
                }
            },
        ),
        (f"{_APPS}.DeploymentSpec", {"strategy": {"type": "Recreate"}}, {}),
        (f"{_APPS}.StatefulSetSpec", {"updateStrategy": {"type": "OnDelete"}}, {}),
        (
            f"{_APPS}.StatefulSetSpec",
            {},
            {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}},
        ),
        (f"{_CORE}.Container", {"image": "nginx"}, {"imagePullPolicy": "Always"}),
        (f"{_CORE}.Container", {"image": "nginx:1"}, {"imagePullPolicy": "IfNotPresent"}),
        (f"{_CORE}.Container", {"image": "nginx", "imagePullPolicy": "Never"}, {}),
        (f"{_CORE}.Volume", {"name": "v"}, {"emptyDir": {}}),
        (f"{_CORE}.Volume", {"name": "v", "hostPath": {"path": "/"}}, {}),
        (f"{_CORE}.PodSpec", {"serviceAccount": "a"}, {"serviceAccountName": "a"}),
        (f"{_CORE}.PodSpec", {"serviceAccountName": "a"}, {"serviceAccount": "a"}),
        (
            f"{_CORE}.Namespace",
            {"metadata": {"name": "n", "labels": {"a": "b"}}},
            {"metadata": {"name": "n", "labels": {"a": "b", "kubernetes.io/metadata.name": "n"}}},
        ),
        (
            f"{_CORE}.ServiceSpec",
            {"ports": [{"port": 80}]},
            {
                "type": "ClusterIP",
                "sessionAffinity": "None",
                "internalTrafficPolicy": "Cluster",
                "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
            },
        ),
        (
            f"{_CORE}.ServiceSpec",
            {"type": "LoadBalancer", "sessionAffinity": "ClientIP"},
            {
                "internalTrafficPolicy": "Cluster",
                "externalTrafficPolicy": "Cluster",
                "allocateLoadBalancerNodePorts": True,
                "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}},
            },
        ),
        (
            f"{_CORE}.LimitRangeItem",
            {"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "1"}},
            {"default": {"cpu": "2"}, "defaultRequest": {"cpu": "2"}},
        ),
        (f"{_CORE}.LimitRangeItem", {"type": "Pod", "max": {"cpu": "2"}}, {}),
        (
            "api.networking.v1.NetworkPolicySpec",
            {"egress": [{}]},
            {"policyTypes": ["Ingress", "Egress"]},
        ),
        ("api.rbac.v1.Subject", {"kind": "User"}, {"apiGroup": "rbac.authorization.k8s.io"}),
        ("api.rbac.v1.Subject", {"kind": "ServiceAccount"}, {}),
    ],
)
def test_what_depends_on_other_members(kind: str, given: dict[str, Any], added: dict[str, Any]) -> None:
    """One rule, one type: its additions to the given fields."""
    before = copy.deepcopy(given)
    assert RULES[kind](given) == {**given, **added}
    assert given == before


def test_requests_follow_limits_in_pods_only() -> None:
    """A pod's containers get requests and, on the host's network, host ports."""
    container = {
        "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}},
        "ports": [{"containerPort": 80}],
    }
    pod = RULES[f"{_CORE}.Pod"]({"spec": {"hostNetwork": True, "containers": [container]}})
    (done,) = pod["spec"]["containers"]
    assert done["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}
    assert done["ports"] == [{"containerPort": 80, "hostPort": 80}]
    assert pod["spec"]["enableServiceLinks"] is True


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ({}, {"completions": 1, "parallelism": 1, "backoffLimit": 6}),
        ({"parallelism": 2}, {"completions": None, "parallelism": 2}),
        ({"backoffLimitPerIndex": 1}, {"backoffLimit": 2**31 - 1}),
        ({"podFailurePolicy": {}}, {"podReplacementPolicy": "Failed"}),
    ],
)
def test_jobs(spec: dict[str, Any], wanted: dict[str, Any]) -> None:
    """What a Job runs to and when it gives up."""
    done = RULES["api.batch.v1.Job"]({"spec": spec})["spec"]
    assert {name: done.get(name) for name in wanted} == wanted


def test_autoscalers() -> None:
    """80 % of CPU; a behavior is completed on both sides, without a window for scaling down."""
    spec = RULES["api.autoscaling.v2.HorizontalPodAutoscalerSpec"]({"maxReplicas": 3, "behavior": {}})
    assert spec["metrics"][0]["resource"]["target"]["averageUtilization"] == 80
    assert [policy["type"] for policy in spec["behavior"]["scaleUp"]["policies"]] == ["Pods", "Percent"]
    assert "stabilizationWindowSeconds" not in spec["behavior"]["scaleDown"]


_DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("image", "tag"),
    [
        ("nginx", "latest"),
        ("nginx:1.25", "1.25"),
        ("library/nginx", "latest"),
        ("registry:5000/nginx", "latest"),
        ("registry:5000/a/nginx:v1", "v1"),
        ("[fd00::1]:5000/nginx:v1", "v1"),
        (f"nginx@{_DIGEST}", ""),
        (f"nginx:1@{_DIGEST}", "1"),
        ("", ""),
        ("Nginx", ""),
        ("nginx:", ""),
        ("nginx:-a", ""),
        ("a//b", ""),
        ("0" * 64, ""),
    ],
)
def test_tags(image: str, tag: str) -> None:
    """No tag is latest, a digest alone and an invalid name have none."""
    assert tag_of(image) == tag


@pytest.mark.parametrize(
    ("image", "policy"),
    [("nginx", "Always"), ("nginx:latest", "Always"), ("nginx:1", "IfNotPresent"), ("N", "IfNotPresent")],
)
def test_pull_policies(image: str, policy: str) -> None:
    """Images with the tag latest are always pulled."""
    assert pull_policy(image) == policy
