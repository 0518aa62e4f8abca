"""
The cluster roles for users in a new cluster, and the groups that are bound to them.

The aggregation controller fills the roles admin, edit and view, which are empty at first. The roles for the
control plane's own components are left out.
Follows: kubernetes plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from handloop_sandbox.cluster.cluster_controller import Write
from handloop_sandbox.wire.resource import GroupResource

_RBAC: Final = "rbac.authorization.k8s.io"
_AGGREGATE: Final = f"{_RBAC}/aggregate-to-"
_READ: Final = "get list watch"
_WRITE: Final = "create delete deletecollection patch update"
_EVENTS: Final = ",events.k8s.io"
_STREAMS: Final = "pods/attach pods/exec pods/portforward pods/proxy"
_APPS: Final = "replicasets replicasets/scale"
_HEALTH: Final = "/healthz /livez /readyz"
_OPENID: Final = "/.well-known/openid-configuration"
_VERSION: Final = "/version /version/"


class _On(NamedTuple):
    """An RBAC rule. Its API groups are separated by commas, its resources and its verbs by spaces."""

    groups: str
    resources: str
    verbs: str


def _with_status(plurals: str) -> str:
    return " ".join(f"{plural} {plural}/status" for plural in plurals.split())


_VIEW: Final = (
    _On(
        "",
        "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods "
        "replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status",
        _READ,
    ),
    _On(
        "",
        "bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status "
        "resourcequotas resourcequotas/status",
        _READ,
    ),
    _On("", "namespaces", _READ),
    _On(_EVENTS, "events", _READ),
    _On("discovery.k8s.io", "endpointslices", _READ),
    _On(
        "apps",
        "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status "
        f"{_APPS} replicasets/status statefulsets statefulsets/scale statefulsets/status",
        _READ,
    ),
    _On("autoscaling", _with_status("horizontalpodautoscalers"), _READ),
    _On("batch", _with_status("cronjobs jobs"), _READ),
    _On(
        "extensions",
        "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses "
        f"ingresses/status networkpolicies {_APPS} replicasets/status replicationcontrollers/scale",
        _READ,
    ),
    _On("policy", _with_status("poddisruptionbudgets"), _READ),
    _On("networking.k8s.io", f"{_with_status('ingresses')} networkpolicies", _READ),
    _On("resource.k8s.io", f"{_with_status('resourceclaims')} resourceclaimtemplates", _READ),
)
_EDIT: Final = (
    _On("", f"{_STREAMS} secrets services/proxy", _READ),
    _On("", "serviceaccounts", "impersonate"),
    _On("", f"pods {_STREAMS}", _WRITE),
    _On("", "pods/eviction", "create"),
    _On(
        "",
        "configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets "
        "serviceaccounts services services/proxy",
        _WRITE,
    ),
    _On("", "serviceaccounts/token", "create"),
    _On(_EVENTS, "events", _WRITE),
    _On(
        "apps",
        f"daemonsets deployments deployments/rollback deployments/scale {_APPS} statefulsets "
        "statefulsets/scale",
        _WRITE,
    ),
    _On("autoscaling", "horizontalpodautoscalers", _WRITE),
    _On("batch", "cronjobs jobs", _WRITE),
    _On(
        "extensions",
        "daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies "
        f"{_APPS} replicationcontrollers/scale",
        _WRITE,
    ),
    _On("policy", "poddisruptionbudgets", _WRITE),
    _On("networking.k8s.io", "ingresses networkpolicies", _WRITE),
    _On("coordination.k8s.io", "leases", "create delete deletecollection get list patch update watch"),
    _On("resource.k8s.io", "resourceclaims resourceclaimtemplates", _WRITE),
)
_ADMIN: Final = (
    _On("authorization.k8s.io", "localsubjectaccessreviews", "create"),
    _On(_RBAC, "rolebindings roles", "create delete deletecollection get list patch update watch"),
)
_RULES: Final[dict[str, tuple[_On | str, ...]]] = {
    "cluster-admin": (_On("*", "*", "*"), "*"),
    "system:aggregate-to-admin": _ADMIN,
    "system:aggregate-to-edit": _EDIT,
    "system:aggregate-to-view": _VIEW,
    "system:auth-delegator": (
        _On("authentication.k8s.io", "tokenreviews", "create"),
        _On("authorization.k8s.io", "subjectaccessreviews", "create"),
    ),
    "system:basic-user": (
        _On("authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews", "create"),
        _On("authentication.k8s.io", "selfsubjectreviews", "create"),
    ),
    "system:discovery": (
        f"/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz {_VERSION}",
    ),
    "system:kubelet-api-admin": (
        _On("", "nodes", _READ),
        _On("", "nodes", "proxy"),
        _On("", "nodes/log nodes/metrics nodes/proxy nodes/stats", "*"),
        _On("", "nodes/configz nodes/healthz nodes/pods", "*"),
    ),
    "system:monitoring": (
        "/flagz /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/* /statusz",
        _On("", "nodes/metrics", "get"),
    ),
    "system:persistent-volume-provisioner": (
        _On("", "persistentvolumes", "create delete get list watch"),
        _On("", "persistentvolumeclaims", "get list update watch"),
        _On("storage.k8s.io", "storageclasses", _READ),
        _On("", "events", "watch"),
        _On(_EVENTS, "events", "create patch update"),
    ),
    "system:public-info-viewer": (f"{_HEALTH} {_VERSION}",),
    "system:service-account-issuer-discovery": (f"{_OPENID} {_OPENID}/ /openid/v1/jwks /openid/v1/jwks/",),
}
"""The rules of each role. A string is a rule for non-resource URLs, separated by spaces."""
_AGGREGATED: Final = {"admin": "", "edit": "admin", "view": "edit"}
"""The aggregated roles. The value is the role that a role is aggregated into, or "" for none."""
_HOLDERS: Final = {
    "cluster-admin": ("system:masters",),
    "system:basic-user": ("system:authenticated",),
    "system:discovery": ("system:authenticated",),
    "system:monitoring": ("system:monitoring",),
    "system:public-info-viewer": ("system:authenticated", "system:unauthenticated"),
    "system:service-account-issuer-discovery": ("system:serviceaccounts",),
}
"""The groups that each role is bound to."""


def writes() -> Iterator[Write]:
    """Yield the writes that create the roles and their bindings."""
    for name, rules in _RULES.items():
        into = name.removeprefix("system:aggregate-to-") if rules in (_ADMIN, _EDIT, _VIEW) else ""
        yield _create("ClusterRole", name, into, rules=[_rule(entry) for entry in rules])
    for name, into in _AGGREGATED.items():
        selector = {"matchLabels": {_AGGREGATE + name: "true"}}
        yield _create("ClusterRole", name, into, aggregationRule={"clusterRoleSelectors": [selector]})
    for name, groups in _HOLDERS.items():
        role = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name}
        yield _create("ClusterRoleBinding", name, roleRef=role, subjects=_subjects(groups))


def _subjects(groups: Sequence[str]) -> list[dict[str, str]]:
    return [{"kind": "Group", "apiGroup": _RBAC, "name": name} for name in groups]


def _rule(entry: _On | str) -> dict[str, Any]:
    if isinstance(entry, str):
        return {"nonResourceURLs": entry.split(), "verbs": ["*" if entry == "*" else "get"]}
    groups, resources, verbs = entry
    return {"apiGroups": groups.split(","), "resources": resources.split(), "verbs": verbs.split()}


def _create(kind: str, name: str, into: str = "", **fields: Any) -> Write:
    labels = {"kubernetes.io/bootstrapping": "rbac-defaults", **({_AGGREGATE + into: "true"} if into else {})}
    annotations = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
    metadata = {"name": name, "labels": labels, "annotations": annotations}
    obj = {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": metadata, **fields}
    return Write.of("create", GroupResource(_RBAC, f"{kind.lower()}s"), obj)
