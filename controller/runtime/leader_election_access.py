"""What leader election needs to be allowed: one Lease, and events about it."""

from __future__ import annotations

from typing import Final

from apis.coordination_v1 import Lease
from apis.core_v1 import Event
from controller.access import Access

PURPOSE: Final = "leader-election"


def leader_election_access(name: str, namespace: str = "") -> tuple[Access, ...]:
    """
    The access to the lease of that name.

    Args: namespace is the lease's; "" = the one the program lives in.
    """
    return (
        # a name cannot limit a create: the object is not there yet
        Access(resource=Lease.resource, verbs=("create",), namespace=namespace, purpose=PURPOSE),
        Access(
            resource=Lease.resource,
            verbs=("get", "update"),
            names=(name,),
            namespace=namespace,
            purpose=PURPOSE,
        ),
        Access(resource=Event.resource, verbs=("create",), namespace=namespace, purpose=PURPOSE),
    )
