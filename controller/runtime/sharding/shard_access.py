"""The permissions that shards need: the Leases of slots and members."""

from __future__ import annotations

from handloop.apis.coordination_v1 import Lease
from handloop.controller.runtime.election.lease_access import PURPOSE
from handloop.controller.runtime.rbac.access import Access


def shards_access(namespace: str = "") -> tuple[Access, ...]:
    """
    The access to the Leases; its role has the name of leader election's, so the same bindings fit.

    Args: namespace is that of the Leases; "" = the program's own.
    """
    # a list cannot be limited by name, and members get their names at their start
    leases = ("create", "delete", "get", "list", "update")
    return (Access(resource=Lease.resource, verbs=leases, namespace=namespace, purpose=PURPOSE),)
