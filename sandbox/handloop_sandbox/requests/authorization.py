"""
Who may do what: RBAC over the stored roles and bindings, and who may act as another user.

Members of system:masters may do everything, and only they may impersonate. Every user may read discovery,
versions and health, as the default roles of a real server allow.
Follows: kubernetes plugin/pkg/auth/authorizer/rbac, apiserver pkg/endpoints/filters/impersonation (with
constrained impersonation, whose words a refusal has).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from handloop.apis.fields import NAME, exact, parse_fields
from handloop.apis.labels import SelectorError
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
_AUTHENTICATED: Final = "system:authenticated"
_ACCOUNT: Final = re.compile("system:serviceaccount:([^:]+):([^:]+)")
ANONYMOUS: Final = User("system:anonymous", ("system:unauthenticated",))
_OPEN_PATHS: Final = ("/healthz", "/livez", "/readyz", "/version")
_DISCOVERY_PATHS: Final = ("/api", "/apis", "/openapi")
_SELF_REVIEWS: Final = ("selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews")


class Attributes(NamedTuple):
    """What a request wants to do; subresource and name may be ""."""

    verb: str
    group: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def resource(self) -> str:
        """The resource as rules name it: `pods` or `pods/log`."""
        return f"{self.plural}/{self.subresource}" if self.subresource else self.plural


def attributes(path: ResourcePath, verb: str, fields: str = "") -> Attributes:
    """
    The attributes of a request on a resource.

    Args: fields is its field selector: a list or watch of one name is allowed by a rule for that name.
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
    """The refusal of a request on a resource."""
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
    """Refuse (403) a path that is no resource."""
    if not path_allowed(state, user, verb, path):
        raise forbidden_path(user.name, verb, path)


def allowed(state: State, user: User, wanted: Attributes) -> bool:
    """Whether some rule allows a request on a resource."""
    if _MASTERS in user.groups:
        return True
    if wanted.verb == "create" and wanted.plural in _SELF_REVIEWS and _AUTHENTICATED in user.groups:
        return True
    return any(rule_allows(rule, wanted) for rule in _rules(state, user, wanted.namespace))


def path_allowed(state: State, user: User, verb: str, path: str) -> bool:
    """Whether a path that is no resource may be used."""
    if _MASTERS in user.groups:
        return True
    if verb == "get" and _is_below(path, _OPEN_PATHS):
        return True
    if verb == "get" and _AUTHENTICATED in user.groups and _is_below(path, _DISCOVERY_PATHS):
        return True
    return any(rule_allows_path(rule, verb, path) for rule in _rules(state, user, ""))


def service_account(namespace: str, name: str, uid: str) -> User:
    """The user a pod's token stands for."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", _AUTHENTICATED)
    return User(f"system:serviceaccount:{namespace}:{name}", groups, uid)


def is_master(user: User) -> bool:
    """Whether a user may do everything."""
    return _MASTERS in user.groups


def rules(state: State, user: User, namespace: str) -> list[Mapping[str, Any]]:
    """The rules that hold for a user in a namespace; "" = those that hold everywhere."""
    return list(_rules(state, user, namespace))


def _rules(state: State, user: User, namespace: str) -> Iterator[Mapping[str, Any]]:
    for _, found in grants(state, user, namespace):
        yield from found or ()


def grants(state: State, user: User, namespace: str) -> Iterator[tuple[str, list[Mapping[str, Any]] | None]]:
    """The name and rules of each role that a user has in a namespace; None for a role that is missing."""
    bindings = [(binding, "") for binding in state.list(CLUSTER_ROLE_BINDINGS)]
    if namespace:
        bindings += [(binding, namespace) for binding in state.list(ROLE_BINDINGS, namespace)]
    for binding, where in bindings:
        if any(_is_subject(user, subject, where) for subject in binding.get("subjects") or ()):
            reference = binding["roleRef"]
            yield reference["name"], role_rules(state, reference, where)


def role_rules(state: State, reference: Mapping[str, str], namespace: str) -> list[Mapping[str, Any]] | None:
    """The rules of the role that a binding in a namespace names; None when it is missing."""
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
    """Whether a rule allows a request on a resource."""
    names = rule.get("resourceNames") or ()
    resources = rule.get("resources") or ()
    return (
        bool({wanted.verb, "*"} & set(rule.get("verbs") or ()))
        and bool({wanted.group, "*"} & set(rule.get("apiGroups") or ()))
        and any(_resource_matches(wanted, entry) for entry in resources)
        and (not names or wanted.name in names)
    )


def rule_allows_path(rule: Mapping[str, Any], verb: str, path: str) -> bool:
    """Whether a rule allows a request on a path that is no resource."""
    patterns = rule.get("nonResourceURLs") or ()
    return bool({verb, "*"} & set(rule.get("verbs") or ())) and _path_matches(path, patterns)


def _resource_matches(wanted: Attributes, entry: str) -> bool:
    if entry in ("*", wanted.resource):
        return True
    return bool(wanted.subresource) and entry == f"*/{wanted.subresource}"


def _path_matches(path: str, patterns: tuple[str, ...]) -> bool:
    return any(path == entry or (entry.endswith("*") and path.startswith(entry[:-1])) for entry in patterns)


def _is_below(path: str, roots: tuple[str, ...]) -> bool:
    return any(path == root or path.startswith(f"{root}/") for root in roots)


def acting_user(user: User, headers: Mapping[str, str], wanted: Attributes | None) -> User:
    """
    The user that a request is made as, by its Impersonate headers; a service account is in its groups.

    Args: wanted is what the request wants to do, None for a path that is no resource.
    Raises: StatusError 403 when user may not act as another one.
    """
    name = headers.get("impersonate-user")
    if not name:
        return user
    if not is_master(user):
        raise _not_impersonated(user, name, wanted)
    groups = (group.strip() for group in headers.get("impersonate-group", "").split(","))
    chosen = tuple(group for group in groups if group)
    if not chosen and (account := _ACCOUNT.fullmatch(name)):
        return service_account(account[1], account[2], headers.get("impersonate-uid", ""))
    return User(name, (*chosen, "system:authenticated"), headers.get("impersonate-uid", ""))


def _not_impersonated(user: User, name: str, wanted: Attributes | None) -> StatusError:
    if wanted is None:
        return forbidden_access(user, Attributes("impersonate", "", "users", name=name))
    return forbidden_access(user, wanted._replace(verb=f"impersonate-on:user-info:{wanted.verb}"))
