"""The permissions that shards need, for the Leases of slots and members."""

from __future__ import annotations

from handloop.apis.coordination_v1 import Lease
from handloop.controller.runtime.election.lease_access import PURPOSE
from handloop.controller.runtime.rbac.access import Access


def shards_access(namespace: str = "") -> tuple[Access, ...]:
    """
    Return the permissions for the Leases.

    Their role has the same name as that of leader election, so the same bindings fit.

    Args: namespace is the Leases' namespace; "" means the program's own namespace.
    """
    # The role cannot limit access to certain names, because members choose their names at the start.
    leases = ("create", "delete", "get", "list", "update")
    return (Access(resource=Lease.resource, verbs=leases, namespace=namespace, purpose=PURPOSE),)
