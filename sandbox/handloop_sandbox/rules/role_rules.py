"""
Validation rules for RBAC roles and bindings. The role of a binding cannot change.

Follows: kubernetes pkg/apis/rbac/validation.
"""

from __future__ import annotations

from typing import Final

from handloop_sandbox.wire import names
from handloop_sandbox.wire.causes import invalid_value, not_supported, required
from handloop_sandbox.wire.field_rules import Object, entries, label_selector, named_by, part
from handloop_sandbox.wire.status import Cause

_GROUP: Final = "rbac.authorization.k8s.io"
_SUBJECT_KINDS: Final = ("ServiceAccount", "User", "Group")


def role(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a Role, whose rules cannot apply to non-resource URLs."""
    del old, subresource
    return [cause for path, rule in _rules(new) for cause in _rule(path, rule, namespaced=True)]


def cluster_role(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """
    Return the validation errors for a ClusterRole.

    Its rules apply to resources or to non-resource URLs.
    """
    del old, subresource
    causes = [cause for path, rule in _rules(new) for cause in _rule(path, rule, namespaced=False)]
    if new.get("aggregationRule") is None:
        return causes
    path = "aggregationRule.clusterRoleSelectors"
    selectors = entries(part(new, "aggregationRule"), "clusterRoleSelectors")
    if not selectors:
        text = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        causes.append(required(path, text))
    for index, selector in enumerate(selectors):
        if found := label_selector(f"{path}[{index}]", selector):
            causes += [*found, invalid_value(f"{path}[{index}]", None, "invalid label selector.")]
    return causes


def _rules(new: Object) -> list[tuple[str, Object]]:
    return [(f"rules[{index}]", rule) for index, rule in enumerate(entries(new, "rules"))]


def _rule(path: str, rule: Object, *, namespaced: bool) -> list[Cause]:
    causes = []
    if not rule.get("verbs"):
        causes.append(required(f"{path}.verbs", "verbs must contain at least one value"))
    if urls := rule.get("nonResourceURLs"):
        where = f"{path}.nonResourceURLs"
        if namespaced:
            text = "namespaced rules cannot apply to non-resource URLs"
            causes.append(invalid_value(where, urls, text))
        if any(rule.get(name) for name in ("apiGroups", "resources", "resourceNames")):
            text = "rules cannot apply to both regular resources and non-resource URLs"
            causes.append(invalid_value(where, urls, text))
        return causes
    if not rule.get("apiGroups"):
        causes.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        causes.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
    return causes


def role_binding(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a RoleBinding, which refers to a Role or a ClusterRole."""
    del subresource
    return _binding(new, old, ("Role", "ClusterRole"))


def cluster_role_binding(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """
    Return the validation errors for a ClusterRoleBinding, which refers to a ClusterRole.

    A subject that is a service account must have a namespace.
    """
    del subresource
    return _binding(new, old, ("ClusterRole",))


def _binding(new: Object, old: Object | None, kinds: tuple[str, ...]) -> list[Cause]:
    reference, causes = part(new, "roleRef"), []
    if reference.get("apiGroup", "") != _GROUP:
        causes.append(not_supported("roleRef.apiGroup", reference.get("apiGroup", ""), (_GROUP,)))
    if reference.get("kind", "") not in kinds:
        causes.append(not_supported("roleRef.kind", reference.get("kind", ""), kinds))
    causes += named_by("roleRef.name", reference.get("name"), names.path_segment)
    for index, subject in enumerate(entries(new, "subjects")):
        causes += _subject(f"subjects[{index}]", subject, needs_namespace=len(kinds) == 1)
    if old is not None and part(old, "roleRef") != reference:
        members = (("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name"))
        shown = {go: reference.get(name, "") for go, name in members}
        causes.append(invalid_value("roleRef", shown, "cannot change roleRef"))
    return causes


def _subject(path: str, subject: Object, *, needs_namespace: bool) -> list[Cause]:
    name, kind, group = (subject.get(member, "") for member in ("name", "kind", "apiGroup"))
    causes = [] if name else [required(f"{path}.name")]
    if kind not in _SUBJECT_KINDS:
        return [*causes, not_supported(f"{path}.kind", kind, _SUBJECT_KINDS)]
    if kind != "ServiceAccount":
        return causes + ([] if group == _GROUP else [not_supported(f"{path}.apiGroup", group, (_GROUP,))])
    causes += named_by(f"{path}.name", name, names.dns_1123_subdomain) if name else []
    if group:
        causes.append(not_supported(f"{path}.apiGroup", group, ("",)))
    if needs_namespace and not subject.get("namespace"):
        causes.append(required(f"{path}.namespace"))
    return causes
