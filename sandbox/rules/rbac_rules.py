"""
Roles and bindings: what they may look like, and what of them may change.

Follows: kubernetes pkg/apis/rbac/validation/validation.go.
"""

from __future__ import annotations

from typing import Final

from handloop.sandbox.wire import names
from handloop.sandbox.wire.causes import invalid_value, not_supported, required
from handloop.sandbox.wire.field_rules import Object, all_invalid, entries, part
from handloop.sandbox.wire.status import Cause

RBAC: Final = "rbac.authorization.k8s.io"
_REFERENCE: Final = (("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name"))


def role(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """A Role: rules about resources."""
    del old, subresource
    return _rules(new, namespaced=True)


def cluster_role(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """A ClusterRole: rules about resources or paths, or an aggregation of other roles."""
    del old, subresource
    causes = _rules(new, namespaced=False)
    aggregation = new.get("aggregationRule")
    if aggregation is not None and not entries(aggregation, "clusterRoleSelectors"):
        text = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        causes.append(required("aggregationRule.clusterRoleSelectors", text))
    return causes


def _rules(new: Object, *, namespaced: bool) -> list[Cause]:
    causes: list[Cause] = []
    for index, rule in enumerate(entries(new, "rules")):
        causes += _rule(f"rules[{index}]", rule, namespaced=namespaced)
    return causes


def _rule(path: str, rule: Object, *, namespaced: bool) -> list[Cause]:
    causes = (
        [] if entries(rule, "verbs") else [required(f"{path}.verbs", "verbs must contain at least one value")]
    )
    urls = entries(rule, "nonResourceURLs")
    if urls:
        where = f"{path}.nonResourceURLs"
        if namespaced:
            causes.append(invalid_value(where, urls, "namespaced rules cannot apply to non-resource URLs"))
        if any(entries(rule, name) for name in ("apiGroups", "resources", "resourceNames")):
            text = "rules cannot apply to both regular resources and non-resource URLs"
            causes.append(invalid_value(where, urls, text))
        return causes
    if not entries(rule, "apiGroups"):
        causes.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
    if not entries(rule, "resources"):
        causes.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
    return causes


def role_binding(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """A RoleBinding: it never changes its role."""
    del subresource
    return _binding(new, old, ("Role", "ClusterRole"), namespaced=True)


def cluster_role_binding(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """A ClusterRoleBinding: it never changes its role."""
    del subresource
    return _binding(new, old, ("ClusterRole",), namespaced=False)


def _binding(new: Object, old: Object | None, kinds: tuple[str, ...], *, namespaced: bool) -> list[Cause]:
    reference = part(new, "roleRef")
    causes = []
    if reference.get("apiGroup") != RBAC:
        causes.append(not_supported("roleRef.apiGroup", reference.get("apiGroup", ""), [RBAC]))
    if reference.get("kind") not in kinds:
        causes.append(not_supported("roleRef.kind", reference.get("kind", ""), kinds))
    name = reference.get("name", "")
    causes += (
        all_invalid("roleRef.name", name, names.path_segment(name)) if name else [required("roleRef.name")]
    )
    for index, subject in enumerate(entries(new, "subjects")):
        causes += _subject(f"subjects[{index}]", subject, namespaced=namespaced)
    if old is not None and part(old, "roleRef") != reference:
        shown = {go: reference.get(name, "") for go, name in _REFERENCE}
        causes.append(invalid_value("roleRef", shown, "cannot change roleRef"))
    return causes


def _subject(path: str, subject: Object, *, namespaced: bool) -> list[Cause]:
    name, kind, group = subject.get("name", ""), subject.get("kind", ""), subject.get("apiGroup", "")
    causes = [] if name else [required(f"{path}.name")]
    if kind == "ServiceAccount":
        causes += all_invalid(f"{path}.name", name, names.dns_1123_subdomain(name)) if name else []
        causes += [not_supported(f"{path}.apiGroup", group, [""])] if group else []
        if not namespaced and not subject.get("namespace"):
            causes.append(required(f"{path}.namespace"))
    elif kind in {"User", "Group"}:
        causes += [] if group == RBAC else [not_supported(f"{path}.apiGroup", group, [RBAC])]
    else:
        causes.append(not_supported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group")))
    return causes
