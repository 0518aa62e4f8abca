"""How a server keeps amounts of resources."""

from __future__ import annotations

import pytest

from support.servers.api_server import APIServer, Object

# as given, as kept
AMOUNTS = [
    ("500u", "1m"),
    ("1n", "1m"),
    ("0.0000000001", "1m"),
    ("0.0005", "1m"),
    ("1.0005", "1001m"),
    ("1000000100n", "1001m"),
    ("12345678901234567890n", "12345678901235m"),
    ("1.0001Ki", "1024103m"),
    ("0.1Ki", "102400m"),
    ("5e-4", "1e-3"),
    ("1e-9", "1e-3"),
    ("1001m", "1001m"),
    ("7Ei", "7Ei"),
    ("8Ei", "9223372036854775807"),
    ("9Ei", "9223372036854775807"),
    ("10E", "10E"),
    ("1e19", "10e18"),
    ("100E", "100E"),
    ("1000E", "1"),
]


def _template(resources: Object) -> Object:
    container = {"name": "c", "image": "i:1", "resources": resources}
    return {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}


@pytest.mark.parametrize(("given", "kept"), AMOUNTS)
def test_what_a_container_may_use(server: APIServer, namespace: str, given: str, kept: str) -> None:
    """Limits and requests are rounded up to a thousandth, and end where an int64 does when binary."""
    collection = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    spec = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}}
    resources = {"limits": {"memory": given}, "requests": {"cpu": given}}
    body = {"metadata": {"name": "d"}, "spec": {**spec, "template": _template(resources)}}
    created = server.create(collection, body)
    assert created.status == 201, created
    for found in (created.body, server.get(f"{collection}/d").body):
        (container,) = found["spec"]["template"]["spec"]["containers"]
        assert container["resources"] == {"limits": {"memory": kept}, "requests": {"cpu": kept}}


def test_other_lists_of_resources(server: APIServer, namespace: str) -> None:
    """Those of quotas and claims are rounded alike; a single quantity is not."""
    base = f"/api/v1/namespaces/{namespace}"
    quota = server.create(
        f"{base}/resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {"cpu": "1500u"}}}
    )
    assert quota.body["spec"] == {"hard": {"cpu": "2m"}}
    claim = server.create(
        f"{base}/persistentvolumeclaims",
        {
            "metadata": {"name": "c"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1500u"}}},
        },
    )
    assert claim.body["spec"]["resources"] == {"requests": {"storage": "2m"}}
    target = {"type": "AverageValue", "averageValue": "1500u"}
    autoscaler = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
        "maxReplicas": 2,
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
    }
    created = server.create(
        f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers",
        {"metadata": {"name": "h"}, "spec": autoscaler},
    )
    assert created.body["spec"]["metrics"][0]["resource"]["target"] == target
