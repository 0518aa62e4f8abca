"""Lists the grants in RBAC roles, and compares them with a run's requests."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final, NamedTuple, Protocol

from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.rbac.roles import roles
from handloop.controller.runtime.reconciling.stalled import can_stall
from handloop.testing.request_attributes import RequestAttributes

_OF_A_STATUS: Final = ("patch", "update")
_RBAC_GROUP: Final = "rbac.authorization.k8s.io"


class Grant(NamedTuple):
    """One verb allowed on one resource. namespace is None for all namespaces; name is "" for any object."""

    verb: str
    group: str
    resource: str
    namespace: str | None = None
    name: str = ""

    def __str__(self) -> str:
        """Return, for example, `patch configmaps`, with the namespace and name if the grant has them."""
        return str(
            RequestAttributes(self.verb, self.resource, self.group, False, self.namespace or "", self.name)
        )

    def allows(self, asked: RequestAttributes) -> bool:
        """Return whether this grant allows a request."""
        same = (self.verb, self.group, self.resource) == (asked.verb, asked.group, asked.resource)
        here = self.namespace is None or self.namespace == asked.namespace
        return same and here and self.name in ("", asked.name)


def grants(manifests: Iterable[dict[str, Any]]) -> Iterator[Grant]:
    """Yield the grants of roles, one by one."""
    for role in manifests:
        namespace = role["metadata"]["namespace"] if role["kind"] == "Role" else None
        for rule in role["rules"]:
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    for verb in rule["verbs"]:
                        for name in rule.get("resourceNames", [""]):
                            yield Grant(verb, group, resource, namespace, name)


def refused(asked: Collection[RequestAttributes], granted: Collection[Grant]) -> set[RequestAttributes]:
    """Return the requests that no grant allows."""
    return {one for one in asked if not any(grant.allows(one) for grant in granted)}


def unused(asked: Collection[RequestAttributes], granted: Collection[Grant]) -> set[Grant]:
    """Return the grants that no request needed, except rights such as bind: no request has that verb."""
    requests = (one for one in granted if not _is_no_request(one))
    return {grant for grant in requests if not any(grant.allows(one) for one in asked)}


def _is_no_request(grant: Grant) -> bool:
    """Return whether the server checks this right only as part of another request."""
    of_owners = grant.verb == "update" and grant.resource.endswith("/finalizers")
    return of_owners or (grant.group == _RBAC_GROUP and grant.verb in ("bind", "escalate"))


class Accessing(Protocol):
    """A program that has run, such as a RunningOperator."""

    manager: Manager
    namespaces: tuple[str, ...]

    def asked(self) -> list[RequestAttributes]:
        """Its requests, oldest first."""


def assert_rbac_exact(operator: Accessing) -> None:
    """
    Check that the roles allow every request so far, and that the requests needed every verb in the roles.

    A streamed list needs both list and watch, and a patch that creates its object needs both patch and
    create. The runtime declares some access only for rare cases. The following may therefore stay unused: get
    for reconciled and written kinds, the status of a kind with conditions, kinds in refers_to, and Events.
    Raises: AssertionError with every request that no role allows, and every verb that no request used.
    """
    asked = operator.asked()
    lists = [one._replace(verb="list", streaming_list=False) for one in asked if one.streaming_list]
    asked += lists + [one._replace(verb="create", name="") for one in asked if one.creates]
    granted = list(grants(roles(operator.manager.access(), namespaces=operator.namespaces)))
    kinds = operator.manager.reconciled_kinds()
    rare = {("get", kind.resource.group, kind.resource.plural) for kind in kinds}
    stalling = [kind.resource for kind in kinds if can_stall(kind)]
    rare |= {(verb, kind.group, f"{kind.plural}/status") for kind in stalling for verb in _OF_A_STATUS}
    # A controller writes the status with one of the two verbs. Allowing the other verb as well gives no
    # further rights.
    statuses = [one for one in asked if one.verb in _OF_A_STATUS and one.resource.endswith("/status")]
    rare |= {(verb, one.group, one.resource) for one in statuses for verb in _OF_A_STATUS}
    rare |= {("get", *one[1:3]) for one in granted if one[0] in ("create", "update", "patch", "delete")}
    rare |= {
        (verb, one.resource.group, one.resource.plural)
        for one in operator.manager.access()
        if one.by_name or one.optional
        for verb in one.verbs
    }
    rare |= {(verb, "", "events") for verb in ("create", "patch")}
    lacking = sorted({f"used, but not declared: {one}" for one in refused(asked, granted)})
    spare = sorted(f"declared, but not used: {one}" for one in unused(asked, granted) if one[:3] not in rare)
    if lacking or spare:
        # Do not use assert here, because pytest rewrites an installed plugin's asserts and indents the lines.
        raise AssertionError("\n".join(["declared access differs from used access", *lacking, *spare]))
