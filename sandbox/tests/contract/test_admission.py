"""What admission refuses, on its way to what would never run."""

from __future__ import annotations

import pytest

from support.servers.api_server import Answer, APIServer, Object

_CONTAINERS = [{"name": "c", "image": "registry.example.com/c"}]
_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
_FROM_CLASS = "from the given PriorityClass name"
_COMPUTED = "must not be provided in pod spec; priority admission controller computed"


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (
            {"serviceAccountName": "nobody", "priorityClassName": "none", "restartPolicy": "Whenever"},
            'error looking up service account {namespace}/nobody: serviceaccount "nobody" not found',
        ),
        ({"priorityClassName": "none"}, "no PriorityClass with name none was found"),
        ({"runtimeClassName": "none"}, 'pod rejected: RuntimeClass "none" not found'),
        (
            {"priorityClassName": "system-node-critical", "priority": 7},
            f"the integer value of priority (7) {_COMPUTED} 2000001000 {_FROM_CLASS}",
        ),
        (
            {"priorityClassName": "system-node-critical", "preemptionPolicy": "Never"},
            f"the string value of PreemptionPolicy (Never) {_COMPUTED} PreemptLowerPriority {_FROM_CLASS}",
        ),
    ],
)
def test_a_pod_names_what_somebody_made(server: APIServer, namespace: str, spec: Object, text: str) -> None:
    """A pod without a name of its own is known by its prefix."""
    path = f"/api/v1/namespaces/{namespace}/pods"
    pod = {"metadata": {"generateName": "pre-"}, "spec": {"containers": _CONTAINERS, **spec}}
    refused = server.create(path, pod)
    assert (refused.status, refused.body["reason"]) == (403, "Forbidden")
    assert refused.message == f'pods "pre-" is forbidden: {text.format(namespace=namespace)}'
    assert refused.body["details"] == {"name": "pre-", "kind": "pods"}


def test_a_deployment_waits_for_its_account(server: APIServer, namespace: str) -> None:
    """Its ReplicaSet says why there is no pod; once the account is there, there is one."""
    base = f"/apis/apps/v1/namespaces/{namespace}"
    labels = {"app": "web"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"serviceAccountName": "web", "containers": _CONTAINERS},
    }
    spec = {"selector": {"matchLabels": labels}, "template": template}
    server.create(f"{base}/deployments", {"metadata": {"name": "web"}, "spec": spec})

    def failure(obj: Object) -> Object:
        conditions = obj["status"].get("conditions") or []
        return next((entry for entry in conditions if entry["type"] == "ReplicaFailure"), {})

    found = server.eventually(f"{base}/deployments/web", lambda answer: bool(failure(answer.body))).body
    condition = failure(found)
    assert (condition["status"], condition["reason"]) == ("True", "FailedCreate")
    (replica_set,) = server.get(f"{base}/replicasets").body["items"]
    assert condition["message"] == (
        f'pods "{replica_set["metadata"]["name"]}-" is forbidden: error looking up service account '
        f'{namespace}/web: serviceaccount "web" not found'
    )
    assert server.get(f"/api/v1/namespaces/{namespace}/pods").body["items"] == []
    server.create(f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": "web"}})
    server.eventually(f"/api/v1/namespaces/{namespace}/pods", lambda answer: bool(answer.body["items"]))


def test_the_priorities_of_the_system(server: APIServer) -> None:
    """Two are there, and stay as they are."""
    found = {item["metadata"]["name"]: item["value"] for item in server.get(_CLASSES).body["items"]}
    assert {name: value for name, value in found.items() if name.startswith("system-")} == {
        "system-cluster-critical": 2_000_000_000,
        "system-node-critical": 2_000_001_000,
    }
    refused = server.delete(f"{_CLASSES}/system-node-critical")
    assert refused.message == (
        'priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: this is a system priority '
        "class and cannot be deleted"
    )
    (cause,) = server.create(_CLASSES, {"metadata": {"name": "system-cluster-critical"}, "value": 5}).causes
    assert cause[2].endswith("error: value of system-cluster-critical PriorityClass must be 2000000000")


_SECURITY = "pod-security.kubernetes.io"
_RESTRICTED = (
    'allowPrivilegeEscalation != false (container "c" must set '
    'securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" must set '
    'securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set '
    'securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set '
    'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")'
)


@pytest.fixture
def strict(server: APIServer, namespace: str) -> str:
    """A namespace of restricted pods."""
    labels = {"metadata": {"labels": {f"{_SECURITY}/enforce": "restricted"}}}
    assert server.patch(f"/api/v1/namespaces/{namespace}", labels).status == 200
    server.eventually(
        f"/api/v1/namespaces/{namespace}/serviceaccounts/default", lambda answer: answer.status == 200
    )
    return namespace


def test_a_namespace_refuses_pods_below_its_level(server: APIServer, strict: str) -> None:
    """All violations are told at once; a pod that keeps the level is taken."""
    pods = f"/api/v1/namespaces/{strict}/pods?dryRun=All"
    refused = server.create(pods, {"metadata": {"name": "p"}, "spec": {"containers": _CONTAINERS}})
    assert refused.message == (
        f'pods "p" is forbidden: violates PodSecurity "restricted:latest": {_RESTRICTED}'
    )
    security = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    spec = {"containers": [{**_CONTAINERS[0], "securityContext": security}]}
    assert server.create(pods, {"metadata": {"name": "p"}, "spec": spec}).status == 201


def test_a_namespace_warns_of_workloads_below_its_level(server: APIServer, strict: str) -> None:
    """With each write of one but those of its scale and status."""
    base = f"/apis/apps/v1/namespaces/{strict}/deployments"
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": _CONTAINERS}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    made = server.create(base, {"metadata": {"name": "web"}, "spec": spec})
    told = [f'would violate PodSecurity "restricted:latest": {_RESTRICTED}']
    assert (made.status, made.warnings) == (201, told)
    assert server.patch(f"{base}/web", {"metadata": {"labels": {"a": "b"}}}).warnings == told
    assert server.patch(f"{base}/web/scale", {"spec": {"replicas": 0}}).warnings == []


def test_limit_ranges(server: APIServer, namespace: str) -> None:
    """Containers get what they lack, and are refused what is too much."""
    base = f"/api/v1/namespaces/{namespace}"
    limit = {"type": "Container", "max": {"cpu": "1"}, "defaultRequest": {"cpu": "100m"}}
    server.create(f"{base}/limitranges", {"metadata": {"name": "l"}, "spec": {"limits": [limit]}})
    server.eventually(f"{base}/serviceaccounts/default", lambda answer: answer.status == 200)

    def create(**resources: Object) -> Answer:
        spec = {"containers": [{**_CONTAINERS[0], "resources": resources}]}
        return server.create(f"{base}/pods?dryRun=All", {"metadata": {"name": "p"}, "spec": spec})

    made = server.repeat(create, lambda answer: "kubernetes.io/limit-ranger" in str(answer.body)).body
    expected = {"limits": {"cpu": "1"}, "requests": {"cpu": "100m"}}
    assert made["spec"]["containers"][0]["resources"] == expected
    assert made["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == (
        "LimitRanger plugin set: cpu request for container c; cpu limit for container c"
    )
    refused = create(limits={"cpu": "2"})
    assert refused.message == 'pods "p" is forbidden: maximum cpu usage per Container is 1, but limit is 2'


def _quota(server: APIServer, namespace: str, **hard: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/resourcequotas"
    assert server.create(path, {"metadata": {"name": "q"}, "spec": {"hard": hard}}).status == 201
    server.eventually(
        f"{path}/q", lambda answer: set((answer.body.get("status") or {}).get("used") or ()) == set(hard)
    )


def test_a_quota_of_memory(server: APIServer, namespace: str) -> None:
    """Each container has to say what it takes, and all together take no more."""
    _quota(server, namespace, **{"requests.memory": "100Mi", "limits.cpu": "2", "pods": "5"})
    path = f"/api/v1/namespaces/{namespace}/pods?dryRun=All"
    server.eventually(
        f"/api/v1/namespaces/{namespace}/serviceaccounts/default", lambda answer: answer.status == 200
    )
    silent = server.create(path, {"metadata": {"name": "p"}, "spec": {"containers": _CONTAINERS}})
    assert silent.message == (
        'pods "p" is forbidden: failed quota: q: must specify limits.cpu for: c; requests.memory for: c'
    )
    resources = {"requests": {"memory": "60Mi"}, "limits": {"cpu": "500m"}}
    each = [{**_CONTAINERS[0], "name": name, "resources": resources} for name in "ab"]
    large = server.create(path, {"metadata": {"name": "p"}, "spec": {"containers": each}})
    assert large.message == (
        'pods "p" is forbidden: exceeded quota: q, requested: requests.memory=120Mi, '
        "used: requests.memory=0, limited: requests.memory=100Mi"
    )
    assert server.create(path, {"metadata": {"name": "p"}, "spec": {"containers": each[:1]}}).status == 201


def test_a_quota_of_the_ports_of_nodes(server: APIServer, namespace: str) -> None:
    """A Service that begins to use them is refused, as a new one that does."""
    _quota(server, namespace, **{"services.nodeports": "1", "requests.storage": "1Gi"})
    path = f"/api/v1/namespaces/{namespace}/services"
    ports = [{"name": name, "port": port} for name, port in (("a", 80), ("b", 81))]
    assert server.create(path, {"metadata": {"name": "s"}, "spec": {"ports": ports}}).status == 201
    amounts = {"requested": 2, "used": 0, "limited": 1}
    told = "exceeded quota: q, " + ", ".join(f"{what}: services.nodeports={n}" for what, n in amounts.items())
    opened = server.patch(f"{path}/s", {"spec": {"type": "NodePort"}})
    assert opened.message == f'services "s" is forbidden: {told}'
    new = server.create(path, {"metadata": {"name": "n"}, "spec": {"type": "NodePort", "ports": ports}})
    assert new.message == f'services "n" is forbidden: {told}'
    claims = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims?dryRun=All"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
    claim = server.create(claims, {"metadata": {"name": "c"}, "spec": spec})
    assert claim.message.endswith(
        "requested: requests.storage=2Gi, used: requests.storage=0, limited: requests.storage=1Gi"
    )


def test_a_binding_names_its_pod(server: APIServer, namespace: str) -> None:
    """The older way to put a pod on a node."""
    path = f"/api/v1/namespaces/{namespace}/bindings"
    target = {"kind": "Node", "name": "n"}
    missing = server.create(path, {"metadata": {"name": "gone"}, "target": target})
    assert (missing.status, missing.message) == (404, 'pods "gone" not found')
    unnamed = server.create(path, {"metadata": {}, "target": target})
    assert (unnamed.status, unnamed.message) == (400, "Name parameter required.")
