"""
What each controller asks of the API server: one declaration behind RBAC manifests, preflight and doctor.

Only verbs that are really used: a test compares them with the requests of a whole run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from handloop.apis.apps_v1 import Deployment
from handloop.apis.core_v1 import Event
from handloop.apis.resource import Resource
from handloop.controller.foo.types import Foo


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """
    Verbs on one resource or subresource.

    Args: names are the only objects it is about, () = all; namespace is where, whatever is watched: None =
    where the controllers watch, "" = the namespace the program itself lives in; purpose sets it apart from
    what the controllers need, such as `leader-election`.
    """

    resource: Resource
    verbs: tuple[str, ...]
    subresource: str = ""
    names: tuple[str, ...] = ()
    namespace: str | None = None
    purpose: str = ""

    @property
    def rule_resource(self) -> str:
        """`foos` or `foos/status`, as RBAC rules spell it."""
        return f"{self.resource.plural}/{self.subresource}" if self.subresource else self.resource.plural


FOO_ACCESS: Final = (
    Access(resource=Foo.resource, verbs=("get", "list", "watch")),
    Access(resource=Foo.resource, subresource="status", verbs=("update",)),
    Access(resource=Deployment.resource, verbs=("create", "list", "patch", "watch")),
    Access(resource=Event.resource, verbs=("create", "patch")),
)


def merged(access: Iterable[Access]) -> tuple[Access, ...]:
    """What several controllers need together: each verb on a resource once, in the order of the first."""
    found: dict[Access, set[str]] = {}
    for entry in access:
        found.setdefault(replace(entry, verbs=()), set()).update(entry.verbs)
    return tuple(replace(entry, verbs=tuple(sorted(verbs))) for entry, verbs in found.items())
