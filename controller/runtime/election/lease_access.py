"""The permissions that leader election needs: one Lease, and Events about it."""

from __future__ import annotations

from typing import Final

from handloop.apis.coordination_v1 import Lease
from handloop.apis.core_v1 import Event
from handloop.apis.meta import Kind
from handloop.controller.runtime.rbac.access import Access

PURPOSE: Final = "leader-election"


def leader_election_access(name: str, namespace: str = "") -> tuple[Access, ...]:
    """
    The access to the lease of that name.

    Args: namespace is the lease's; "" = the program's own.
    """

    def access(kind: type[Kind], *verbs: str, names: tuple[str, ...] = ()) -> Access:
        return Access(resource=kind.resource, verbs=verbs, names=names, namespace=namespace, purpose=PURPOSE)

    # a name cannot limit a create, as the object does not exist yet; it can limit a watch, by field selector
    return (
        access(Lease, "create"),
        access(Lease, "get", "update", "watch", names=(name,)),
        access(Event, "create"),
    )
