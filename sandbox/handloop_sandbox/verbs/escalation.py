"""
Prevents privilege escalation: a role or binding must not grant permissions that its author lacks.

The author of a role needs all permissions in the role, or the verb `escalate`. The author of a binding needs
all permissions in the bound role, or the verb `bind`. Only a user with all rights may write an
aggregationRule.
Follows: kubernetes pkg/registry/rbac/{escalation_check,role/policybased,rolebinding/policybased}.go,
pkg/registry/rbac/validation/{rule,policy_compact}.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from handloop_sandbox.requests.authorization import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    RBAC,
    ROLE_BINDINGS,
    ROLES,
    Attributes,
    PathAttributes,
    allowed,
    grants,
    is_master,
    role_rules,
    rule_allows,
    rule_allows_path,
)
from handloop_sandbox.requests.call import Call, shallow_metadata
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.wire.causes import quoted
from handloop_sandbox.wire.status import forbidden, internal_error, not_found

Rule = Mapping[str, Any]

_FOR_COLLECTOR: Final = dict.fromkeys(("finalizers", "ownerReferences", "managedFields", "resourceVersion"))
_PLURALS: Final = {"Role": "roles", "ClusterRole": "clusterroles"}
_EVERYTHING: Final = (
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
)


def check(call: Call, obj: Object, old: Object | None) -> None:
    """Refuse (403) a role or binding that grants permissions that its author lacks."""
    if call.collection.group != RBAC or is_master(call.context.user) or _only_for_collector(obj, old):
        return
    if call.collection in (ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS):
        _check_binding(call, obj)
    elif call.collection in (ROLES, CLUSTER_ROLES):
        _check_role(call, obj, old)


def _only_for_collector(obj: Object, old: Object | None) -> bool:
    """Return whether a write changes only owners and finalizers, as the garbage collector does."""
    return old is not None and shallow_metadata(obj, **_FOR_COLLECTOR) == shallow_metadata(
        old, **_FOR_COLLECTOR
    )


def _check_role(call: Call, obj: Object, old: Object | None) -> None:
    escalate = Attributes("escalate", RBAC, call.collection.plural, call.namespace, call.name)
    if allowed(call.state, call.context.user, escalate):
        return
    _check_rules(call, obj, obj.get("rules") or ())
    aggregates = any((role or {}).get("aggregationRule") for role in (obj, old))
    if aggregates and _uncovered(_held(call), _EVERYTHING):
        text = "must have cluster-admin privileges to use the aggregationRule"
        raise forbidden(call.resource, obj["metadata"].get("name", ""), text)


def _check_binding(call: Call, obj: Object) -> None:
    reference = obj.get("roleRef") or {}
    kind, name = reference.get("kind", ""), reference.get("name", "")
    if kind not in _PLURALS:
        raise internal_error(f"unsupported role reference kind: {quoted(kind)}")
    bind = Attributes("bind", reference.get("apiGroup", ""), _PLURALS[kind], call.namespace, name)
    if allowed(call.state, call.context.user, bind):
        return
    rules = role_rules(call.state, reference, call.namespace)
    if rules is None:
        raise not_found(call.resource, name)  # as on a real server, the error names the binding's resource
    _check_rules(call, obj, rules)


def _check_rules(call: Call, obj: Object, rules: Sequence[Rule]) -> None:
    missing = _uncovered(_held(call), rules)
    if not missing:
        return
    user = call.context.user
    groups = " ".join(map(quoted, user.groups))
    text = f"user {quoted(user.name)} (groups=[{groups}]) is attempting to grant RBAC permissions not "
    text += "currently held:\n" + "\n".join(sorted(_compact(missing))) + _unresolved(call)
    raise forbidden(call.resource, obj["metadata"].get("name", ""), text)


def _unresolved(call: Call) -> str:
    """Return the part of the error message that concerns the user's bindings to missing roles."""
    found = grants(call.state, call.context.user, call.namespace)
    texts = [f"{call.resource.qualified} {quoted(name)} not found" for name, rules in found if rules is None]
    told = f"[{', '.join(texts)}]" if len(texts) > 1 else "".join(texts)
    return f"; resolution errors: [{told}]" if told else ""


def _held(call: Call) -> list[Rule]:
    found = grants(call.state, call.context.user, call.namespace)
    return [rule for _, rules in found for rule in rules or ()]


_Permission = Attributes | PathAttributes


def _uncovered(held: Sequence[Rule], rules: Iterable[Rule]) -> list[_Permission]:
    """Split rules into single permissions, and return those that are not granted by the user's own rules."""
    return [one for rule in rules for one in _single(rule) if not any(_gives(own, one) for own in held)]


def _single(rule: Rule) -> Iterator[_Permission]:
    verbs = rule.get("verbs") or ()
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            plural, _, subresource = resource.partition("/")
            for verb in verbs:
                for name in rule.get("resourceNames") or ("",):
                    yield Attributes(verb, group, plural, "", name, subresource)
    for path in rule.get("nonResourceURLs") or ():
        for verb in verbs:
            yield PathAttributes(verb, path)


def _gives(rule: Rule, wanted: _Permission) -> bool:
    if isinstance(wanted, PathAttributes):
        return rule_allows_path(rule, wanted.verb, wanted.path)
    return rule_allows(rule, wanted)


def _compact(permissions: Iterable[_Permission]) -> Iterator[str]:
    """Yield permissions as Go prints them: a rule for each path and verb, or for all verbs on a resource."""
    verbs: dict[str, list[str]] = {}
    for one in permissions:
        if isinstance(one, PathAttributes):
            yield f"{{NonResourceURLs:[{quoted(one.path)}], Verbs:[{quoted(one.verb)}]}}"
        else:
            names = f", ResourceNames:[{quoted(one.name)}]" if one.name else ""
            what = f"APIGroups:[{quoted(one.group)}], Resources:[{quoted(one.resource)}]{names}"
            verbs.setdefault(what, []).append(quoted(one.verb))
    for what, found in verbs.items():
        yield f"{{{what}, Verbs:[{' '.join(found)}]}}"
