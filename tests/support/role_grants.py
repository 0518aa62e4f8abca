"""What RBAC roles grant, taken apart, so that it can be compared with what was asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from support.cluster import Object
from support.request_trace import Asked


class Grant(NamedTuple):
    """One verb on one resource; namespace None = in all of them, name "" = whatever the object is called."""

    verb: str
    group: str
    resource: str
    namespace: str | None = None
    name: str = ""

    def allows(self, asked: Asked) -> bool:
        """Whether this is what a request needs."""
        same = (self.verb, self.group, self.resource) == (asked.verb, asked.group, asked.resource)
        here = self.namespace is None or self.namespace == asked.namespace
        return same and here and self.name in ("", asked.name)


def grants(roles: Iterable[Object]) -> Iterator[Grant]:
    """Everything that roles grant, each on its own."""
    for role in roles:
        namespace = role["metadata"]["namespace"] if role["kind"] == "Role" else None
        for rule in role["rules"]:
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    for verb in rule["verbs"]:
                        for name in rule.get("resourceNames", [""]):
                            yield Grant(verb, group, resource, namespace, name)


def refused(asked: Collection[Asked], granted: Collection[Grant]) -> set[Asked]:
    """The requests that nothing allows."""
    return {one for one in asked if not any(grant.allows(one) for grant in granted)}


def unused(asked: Collection[Asked], granted: Collection[Grant]) -> set[Grant]:
    """The grants that no request needed."""
    return {grant for grant in granted if not any(grant.allows(one) for one in asked)}
