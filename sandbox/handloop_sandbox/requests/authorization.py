"""
Authorizes requests with the stored RBAC roles and bindings. Members of system:masters may do everything.

Follows: kubernetes plugin/pkg/auth/authorizer/rbac.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from handloop_sandbox.grammar.fields import NAME, exact, parse_fields
from handloop_sandbox.grammar.labels import SelectorError
from handloop_sandbox.requests.request import User
from handloop_sandbox.requests.routes import ResourcePath
from handloop_sandbox.storage.state import State
from handloop_sandbox.wire.resource import GroupResource
from handloop_sandbox.wire.status import StatusError, failure, forbidden_path

RBAC: Final = "rbac.authorization.k8s.io"
ROLES: Final = GroupResource(RBAC, "roles")
CLUSTER_ROLES: Final = GroupResource(RBAC, "clusterroles")
ROLE_BINDINGS: Final = GroupResource(RBAC, "rolebindings")
CLUSTER_ROLE_BINDINGS: Final = GroupResource(RBAC, "clusterrolebindings")
_MASTERS: Final = "system:masters"
AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"
ANONYMOUS: Final = User("system:anonymous", (UNAUTHENTICATED,))


class Attributes(NamedTuple):
    """The action on a resource that a request asks for. Namespace, name and subresource may be ""."""

    verb: str
    group: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def resource(self) -> str:
        """The resource as RBAC rules name it: `pods` or `pods/log`."""
        return f"{self.plural}/{self.subresource}" if self.subresource else self.plural


class PathAttributes(NamedTuple):
    """The action that a request asks for on a path that is not a resource."""

    verb: str
    path: str


def attributes(path: ResourcePath, verb: str, fields: str = "") -> Attributes:
    """
    Return the attributes of a request for a resource.

    Args: fields is the request's field selector. If it selects a single name, that name becomes an attribute,
    because a rule for one name also allows lists and watches of that name.
    """
    namespace, name = path.namespace, path.name
    if (path.group, path.plural) == ("", "namespaces"):
        namespace = path.name
    if verb in ("list", "watch") and not name:
        name = _pinned_name(fields)
    return Attributes(verb, path.group, path.plural, namespace, name, path.subresource)


def _pinned_name(fields: str) -> str:
    try:
        return exact(parse_fields(fields), NAME) or ""
    except SelectorError:
        return ""


def check_resource(state: State, user: User, wanted: Attributes) -> None:
    """Refuse (403) a request that no rule allows."""
    if not allowed(state, user, wanted):
        raise forbidden_access(user, wanted)


def forbidden_access(user: User, wanted: Attributes) -> StatusError:
    """Return the error (403) for a resource request that is not allowed."""
    where = f'in the namespace "{wanted.namespace}"' if wanted.namespace else "at the cluster scope"
    resource = f'"{wanted.resource}" in API group "{wanted.group}"'
    qualified = f"{wanted.plural}.{wanted.group}" if wanted.group else wanted.plural
    named = f' "{wanted.name}"' if wanted.name else ""
    what = f'User "{user.name}" cannot {wanted.verb} resource {resource} {where}'
    text = f"{qualified}{named} is forbidden: {what}"
    pairs = (("name", wanted.name), ("group", wanted.group), ("kind", wanted.plural))
    details = {key: value for key, value in pairs if value}
    return StatusError(failure(403, "Forbidden", text, details=details))


def check_path(state: State, user: User, verb: str, path: str) -> None:
    """Refuse (403) a request for a path that is not a resource if no rule allows it."""
    if not path_allowed(state, user, verb, path):
        raise forbidden_path(user.name, verb, path)


def allowed(state: State, user: User, wanted: Attributes) -> bool:
    """Return whether any rule allows a user's request for a resource."""
    if _MASTERS in user.groups:
        return True
    return any(rule_allows(rule, wanted) for rule in _rules(state, user, wanted.namespace))


def path_allowed(state: State, user: User, verb: str, path: str) -> bool:
    """Return whether any rule allows a user's request for a path that is not a resource."""
    if _MASTERS in user.groups:
        return True
    return any(rule_allows_path(rule, verb, path) for rule in _rules(state, user, ""))


def service_account(namespace: str, name: str, uid: str) -> User:
    """Return the user that represents a service account."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED)
    return User(f"system:serviceaccount:{namespace}:{name}", groups, uid)


def is_master(user: User) -> bool:
    """Return whether a user may do everything."""
    return _MASTERS in user.groups


def rules(state: State, user: User, namespace: str) -> list[Mapping[str, Any]]:
    """Return the rules for a user in a namespace. If the namespace is "", only cluster-wide rules apply."""
    return list(_rules(state, user, namespace))


def _rules(state: State, user: User, namespace: str) -> Iterator[Mapping[str, Any]]:
    for _, found in grants(state, user, namespace):
        yield from found or ()


def grants(state: State, user: User, namespace: str) -> Iterator[tuple[str, list[Mapping[str, Any]] | None]]:
    """Yield the name and rules of each role bound to a user in a namespace (None for a missing role)."""
    bindings = [(binding, "") for binding in state.list(CLUSTER_ROLE_BINDINGS)]
    if namespace:
        bindings += [(binding, namespace) for binding in state.list(ROLE_BINDINGS, namespace)]
    for binding, where in bindings:
        if any(_is_subject(user, subject, where) for subject in binding.get("subjects") or ()):
            reference = binding["roleRef"]
            yield reference["name"], role_rules(state, reference, where)


def role_rules(state: State, reference: Mapping[str, str], namespace: str) -> list[Mapping[str, Any]] | None:
    """Return the rules of the role to which a binding in a namespace refers, or None if it is missing."""
    clustered = reference["kind"] == "ClusterRole"
    role = state.get(CLUSTER_ROLES if clustered else ROLES, "" if clustered else namespace, reference["name"])
    return None if role is None else role.get("rules") or []


def _is_subject(user: User, subject: Mapping[str, str], namespace: str) -> bool:
    name = subject.get("name", "")
    match subject.get("kind"):
        case "User":
            return name == user.name
        case "Group":
            return name in user.groups
        case "ServiceAccount":
            return user.name == f"system:serviceaccount:{subject.get('namespace') or namespace}:{name}"
    return False


def rule_allows(rule: Mapping[str, Any], wanted: Attributes) -> bool:
    """Return whether a rule allows a request for a resource."""
    names = rule.get("resourceNames") or ()
    resources = rule.get("resources") or ()
    return (
        bool({wanted.verb, "*"} & set(rule.get("verbs") or ()))
        and bool({wanted.group, "*"} & set(rule.get("apiGroups") or ()))
        and any(_resource_matches(wanted, entry) for entry in resources)
        and (not names or wanted.name in names)
    )


def rule_allows_path(rule: Mapping[str, Any], verb: str, path: str) -> bool:
    """Return whether a rule allows a request for a path that is not a resource."""
    patterns = rule.get("nonResourceURLs") or ()
    return bool({verb, "*"} & set(rule.get("verbs") or ())) and _path_matches(path, patterns)


def _resource_matches(wanted: Attributes, entry: str) -> bool:
    if entry in ("*", wanted.resource):
        return True
    return bool(wanted.subresource) and entry == f"*/{wanted.subresource}"


def _path_matches(path: str, patterns: tuple[str, ...]) -> bool:
    return any(path == entry or (entry.endswith("*") and path.startswith(entry[:-1])) for entry in patterns)
