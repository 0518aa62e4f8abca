"""The permissions that leader election needs, for one Lease and for Events about it."""

from __future__ import annotations

from typing import Final

from handloop.apis.coordination_v1 import Lease
from handloop.apis.core_v1 import Event
from handloop.apis.meta import Kind
from handloop.controller.runtime.rbac.access import Access

PURPOSE: Final = "leader-election"


def leader_election_access(name: str, namespace: str = "") -> tuple[Access, ...]:
    """
    Return the access that an election with this lease needs.

    Args: namespace is the lease's namespace; "" means the program's namespace.
    """

    def access(kind: type[Kind], *verbs: str, names: tuple[str, ...] = ()) -> Access:
        return Access(resource=kind.resource, verbs=verbs, names=names, namespace=namespace, purpose=PURPOSE)

    # A create cannot be limited by name, because no object exists yet. A watch can, by its field selector.
    return (
        access(Lease, "create"),
        access(Lease, "get", "update", "watch", names=(name,)),
        access(Event, "create"),
    )
