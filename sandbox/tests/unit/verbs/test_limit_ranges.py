from __future__ import annotations

from typing import Any

import pytest

from support.servers.local_server import LocalServer, Reply

_NO_LIMIT = ".  No limit is specified"
_CORE = "/api/v1/namespaces/default"


def _limited(server: LocalServer, **limit: Any) -> None:
    body = {"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Container", **limit}]}}
    assert server.request("POST", f"{_CORE}/limitranges", body).status == 201


def _pod(server: LocalServer, *resources: dict[str, Any], **spec: Any) -> Reply:
    containers = [
        {"name": name, "image": "x", "resources": own} for name, own in zip("ab", resources, strict=False)
    ]
    body = {"metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}
    return server.request("POST", f"{_CORE}/pods", body)


def test_what_containers_get(server: LocalServer) -> None:
    """What they lack, initial ones, too; the annotation names it. They are of the class that it makes."""
    _limited(server, default={"cpu": "500m", "memory": "1Gi"}, defaultRequest={"cpu": "100m"})
    initial = [{"name": "i", "image": "x"}]
    pod = _pod(server, {"requests": {"cpu": "200m"}}, initContainers=initial).body
    assert pod["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "200m", "memory": "1Gi"},
        "limits": {"cpu": "500m", "memory": "1Gi"},
    }
    assert pod["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == (
        "LimitRanger plugin set: memory request for container a; cpu, memory limit for container a; cpu, "
        "memory request for init container i; cpu, memory limit for init container i"
    )
    assert pod["status"]["qosClass"] == "Burstable"


@pytest.mark.parametrize(
    ("limit", "resources", "told"),
    [
        (
            {"max": {"cpu": "1"}},
            {"limits": {"cpu": "2"}},
            "maximum cpu usage per Container is 1, but limit is 2",
        ),
        (
            {"min": {"cpu": "50m"}},
            {"requests": {"cpu": "10m"}},
            "minimum cpu usage per Container is 50m, but request is 10m",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {},
            "cpu max limit to request ratio per Container is 2, but no request is specified or request is 0",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"requests": {"cpu": "100m"}, "limits": {"cpu": "250m"}},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 2.500000",
        ),
        (
            {"type": "Pod", "max": {"cpu": "1", "memory": "1Gi"}},
            {},
            f"[maximum cpu usage per Pod is 1{_NO_LIMIT}, maximum memory usage per Pod is 1Gi{_NO_LIMIT}]",
        ),
    ],
)
def test_bounds(server: LocalServer, limit: dict[str, Any], resources: dict[str, Any], told: str) -> None:
    """Each that is broken is told."""
    _limited(server, **limit)
    refused = _pod(server, resources)
    assert (refused.status, refused.message) == (403, f'pods "p" is forbidden: {told}')


def test_a_pod_is_the_sum_of_its_containers(server: LocalServer) -> None:
    """An initial one counts where it alone asks for more."""
    _limited(server, type="Pod", max={"cpu": "1", "memory": "1Gi"})
    one, other = ({"limits": {"cpu": "600m", "memory": size}} for size in ("1Gi", "500Mi"))
    assert _pod(server, one, other).message == (
        'pods "p" is forbidden: [maximum cpu usage per Pod is 1, but limit is 1200m, '
        "maximum memory usage per Pod is 1Gi, but limit is 1524Mi]"
    )
    initial = [{"name": "i", "image": "x", "resources": {"limits": {"cpu": "900m", "memory": "1Mi"}}}]
    assert _pod(server, one, initContainers=initial).status == 201


def test_claims(server: LocalServer) -> None:
    """A claim is bounded when it is made, and when it grows."""
    _limited(server, type="PersistentVolumeClaim", min={"storage": "1Gi"}, max={"storage": "2Gi"})

    def claim(size: str) -> dict[str, Any]:
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
        return {"metadata": {"name": "c"}, "spec": spec}

    claims, told = f"{_CORE}/persistentvolumeclaims", 'persistentvolumeclaims "c" is forbidden: '
    assert server.request("POST", claims, claim("1Mi")).message == (
        f"{told}minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi"
    )
    assert server.request("POST", claims, claim("1Gi")).status == 201
    bound = {"status": {"phase": "Bound"}, "spec": {"volumeName": "v"}}
    for path in (f"{claims}/c", f"{claims}/c/status"):
        assert server.request("PATCH", path, bound, content_type="application/merge-patch+json").status == 200
    grown = {"spec": {"resources": {"requests": {"storage": "3Gi"}}}}
    assert server.request(
        "PATCH", f"{claims}/c", grown, content_type="application/merge-patch+json"
    ).message == (f"{told}maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi")
