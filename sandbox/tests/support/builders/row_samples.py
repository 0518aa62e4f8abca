"""Objects of built-in kinds, with the rows in which a server shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.tables.table import cells_of

Object = dict[str, Any]

AGE: Final = "0s"
_RESOURCES: Final = {(found.api_version, found.plural): found for found in builtin_resources()}


class Row(NamedTuple):
    """An object's content, the kind's plural, and the cells after its name; cluster = it has no namespace."""

    api_version: str
    plural: str
    content: Mapping[str, Any]
    cells: list[Any]
    cluster: bool = False
    shown_as: str = "{}"

    def path(self, namespace: str) -> str:
        """Where its kind is."""
        root = f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"
        return f"{root}/{self.plural}" if self.cluster else f"{root}/namespaces/{namespace}/{self.plural}"

    def made(self, name: str) -> Object:
        """The object, but for its kind."""
        content = dict(self.content)
        metadata = {**content.pop("metadata", {}), "name": name}
        return {"apiVersion": self.api_version, "metadata": metadata, **content}

    def printed(self) -> list[Any]:
        """The cells of the object a, which was created a moment ago, and the name in front."""
        made = self.made("a")
        created = {"creationTimestamp": "2026-01-01T00:00:00Z"}
        obj = {**made, "metadata": {**made["metadata"], **created}}
        return cells_of(_RESOURCES[self.api_version, self.plural], obj, 1767225600.0)


_NETWORK: Final = "networking.k8s.io/v1"
_ROLES: Final = "rbac.authorization.k8s.io"
_STORAGE: Final = "storage.k8s.io/v1"
_POD: Final[Object] = {"restartPolicy": "Never", "containers": [{"name": "x", "image": "y"}]}
_TEMPLATE: Final[Object] = {"metadata": {"labels": {"b": "c"}}, "spec": {"containers": _POD["containers"]}}
_RULES: Final = [{"host": f"{letter}.example.com"} for letter in "abcd"]

NETWORK_ROWS: Final = (
    Row(
        "v1",
        "endpoints",
        {
            "subsets": [
                {
                    "addresses": [{"ip": "1.2.3.4"}, {"ip": "1.2.3.5"}],
                    "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}],
                },
                {"addresses": [{"ip": "1.2.3.6"}]},
            ]
        },
        ["1.2.3.4:80,1.2.3.5:80,1.2.3.4:81 + 2 more...", AGE],
    ),
    Row("v1", "endpoints", {}, ["<none>", AGE]),
    Row(
        "v1",
        "endpoints",
        {"subsets": [{"notReadyAddresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 80}]}]},
        ["", AGE],
    ),
    Row(
        "v1",
        "endpoints",
        {"subsets": [{"addresses": [{"ip": "fd00::1"}], "ports": [{"port": 80}]}]},
        ["[fd00::1]:80", AGE],
    ),
    Row(
        _NETWORK,
        "ingresses",
        {"spec": {"ingressClassName": "nginx", "tls": [{"hosts": ["a.example.com"]}], "rules": _RULES}},
        ["nginx", "a.example.com,b.example.com,c.example.com + 1 more...", "", "80, 443", AGE],
    ),
    Row(
        _NETWORK,
        "ingresses",
        {"spec": {"defaultBackend": {"service": {"name": "x", "port": {"number": 80}}}}},
        ["<none>", "*", "", "80", AGE],
    ),
    Row(
        _NETWORK,
        "ingressclasses",
        {"spec": {"controller": "a.b/c", "parameters": {"apiGroup": "g.io", "kind": "K", "name": "n"}}},
        ["a.b/c", "K.g.io/n", AGE],
        cluster=True,
    ),
    Row(
        _NETWORK, "ingressclasses", {"spec": {"controller": "a.b/c"}}, ["a.b/c", "<none>", AGE], cluster=True
    ),
    Row(_NETWORK, "networkpolicies", {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}}, ["a=b", AGE]),
    Row(_NETWORK, "networkpolicies", {"spec": {"podSelector": {}}}, ["<none>", AGE]),
)
_CLAIM: Final = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
STORAGE_ROWS: Final = (
    Row(
        "v1",
        "persistentvolumes",
        {
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
                "hostPath": {"path": "/x"},
                "claimRef": {"namespace": "a", "name": "b"},
                "storageClassName": "z",
            },
        },
        ["1Gi", "RWO,RWX", "Retain", "Pending", "a/b", "z", "<unset>", "", AGE, "Filesystem"],
        cluster=True,
    ),
    Row(
        "v1",
        "persistentvolumeclaims",
        {"spec": {**_CLAIM, "storageClassName": "z"}},
        ["Pending", "", "", "", "z", "<unset>", AGE, "Filesystem"],
    ),
    Row(
        "v1",
        "persistentvolumeclaims",
        {
            "metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "y"}},
            "spec": {**_CLAIM, "volumeName": "none"},
        },
        ["Pending", "none", "0", "", "y", "<unset>", AGE, "Filesystem"],
    ),
    Row(
        _STORAGE,
        "storageclasses",
        {
            "provisioner": "p/q",
            "reclaimPolicy": "Retain",
            "volumeBindingMode": "WaitForFirstConsumer",
            "allowVolumeExpansion": True,
        },
        ["p/q", "Retain", "WaitForFirstConsumer", True, AGE],
        cluster=True,
    ),
    Row(
        _STORAGE,
        "storageclasses",
        {
            "metadata": {"annotations": {"storageclass.beta.kubernetes.io/is-default-class": "true"}},
            "provisioner": "p/q",
        },
        ["p/q", "Delete", "Immediate", False, AGE],
        cluster=True,
        shown_as="{} (default)",
    ),
)
OTHER_ROWS: Final = (
    Row(
        f"{_ROLES}/v1",
        "clusterrolebindings",
        {
            "roleRef": {"apiGroup": _ROLES, "kind": "ClusterRole", "name": "view"},
            "subjects": [
                {"apiGroup": _ROLES, "kind": "User", "name": "u"},
                {"apiGroup": _ROLES, "kind": "User", "name": "v"},
                {"apiGroup": _ROLES, "kind": "Group", "name": "g"},
                {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
            ],
        },
        ["ClusterRole/view", AGE, "u, v", "g", "n/s"],
        cluster=True,
    ),
    Row(
        "scheduling.k8s.io/v1",
        "priorityclasses",
        {"value": 5, "preemptionPolicy": "Never"},
        [5, False, AGE, "Never"],
        cluster=True,
    ),
    Row("v1", "podtemplates", {"template": _TEMPLATE}, ["x", "y", "b=c"]),
    Row(
        "apps/v1",
        "controllerrevisions",
        {"revision": 3, "data": {}},
        ["<none>", 3, AGE],
    ),
    Row(
        "batch/v1",
        "cronjobs",
        {
            "spec": {
                "schedule": "1 2 3 4 5",
                "timeZone": "Etc/UTC",
                "suspend": True,
                "jobTemplate": {"spec": {"template": {"spec": _POD}}},
            }
        },
        ["1 2 3 4 5", "Etc/UTC", "True", 0, "<none>", AGE, "x", "y", "<none>"],
    ),
    Row(
        "apps/v1",
        "daemonsets",
        {
            "spec": {
                "selector": {"matchLabels": {"b": "c"}},
                "template": {**_TEMPLATE, "spec": {**_TEMPLATE["spec"], "nodeSelector": {"z": "1"}}},
            }
        },
        [0, 0, 0, 0, 0, "z=1", AGE, "x", "y", "b=c"],
    ),
    Row(
        "v1",
        "replicationcontrollers",
        {"spec": {"replicas": 0, "selector": {"b": "c"}, "template": _TEMPLATE}},
        [0, 0, 0, AGE, "x", "y", "b=c"],
    ),
)
