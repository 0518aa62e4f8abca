"""The permissions that shards need: the Leases of slots and members."""

from __future__ import annotations

from handloop.apis.coordination_v1 import Lease
from handloop.controller.runtime.election.lease_access import PURPOSE
from handloop.controller.runtime.rbac.access import Access


def shards_access(namespace: str = "") -> tuple[Access, ...]:
    """
    Return the access to the Leases. Its role has the same name as for leader election, so the same bindings
    fit.

    Args: namespace is the namespace of the Leases; "" = that of the program.
    """
    # A list cannot be limited to names, because members get their names when they start.
    leases = ("create", "delete", "get", "list", "update")
    return (Access(resource=Lease.resource, verbs=leases, namespace=namespace, purpose=PURPOSE),)
