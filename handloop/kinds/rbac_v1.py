"""rbac.authorization.k8s.io/v1, complete; made by `python -m tools.generate_kinds`."""

from __future__ import annotations

from handloop.apis.meta import APIStruct, Kind
from handloop.kinds.meta_v1 import LabelSelector


class RoleRef(APIStruct):
    api_group: str | None = None
    kind: str
    name: str


class Subject(APIStruct):
    api_group: str | None = None
    kind: str
    name: str
    namespace: str | None = None


class ClusterRoleBinding(
    Kind, group="rbac.authorization.k8s.io", version="v1", scope="Cluster", partial=False
):
    role_ref: RoleRef
    subjects: tuple[Subject, ...] = ()


class AggregationRule(APIStruct):
    cluster_role_selectors: tuple[LabelSelector, ...] = ()


class PolicyRule(APIStruct):
    api_groups: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    verbs: tuple[str, ...]


class ClusterRole(Kind, group="rbac.authorization.k8s.io", version="v1", scope="Cluster", partial=False):
    aggregation_rule: AggregationRule | None = None
    rules: tuple[PolicyRule, ...] = ()


class RoleBinding(Kind, group="rbac.authorization.k8s.io", version="v1", partial=False):
    role_ref: RoleRef
    subjects: tuple[Subject, ...] = ()


class Role(Kind, group="rbac.authorization.k8s.io", version="v1", partial=False):
    rules: tuple[PolicyRule, ...] = ()
