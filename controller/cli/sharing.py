"""The mode in which all replicas work, each on some slots, and a test of the server's support for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from handloop.client.access_review import Permission
from handloop.client.errors import APIError
from handloop.client.options import ListOptions
from handloop.client.resource_client import Client
from handloop.controller.cli.alone import Alone, Process
from handloop.controller.cli.options import Options
from handloop.controller.runtime.election.lease_connections import LeaseConnections
from handloop.controller.runtime.rbac.access import LISTING_NAMESPACES
from handloop.controller.runtime.sharding.members import ShardMismatchError
from handloop.controller.runtime.sharding.shard_access import shards_access
from handloop.controller.runtime.sharding.sharded_kinds import ShardingError
from handloop.controller.runtime.sharding.shards import Shards

OBEYS: Final = "the server obeys shardSelector, so each replica reads only its own objects"
IGNORES: Final = (
    "the server ignores shardSelector (its feature gate ShardedListAndWatch is off), so each replica reads "
    "all objects and drops those of the others"
)
UNKNOWN: Final = "no kind can be listed, so it is unknown whether the server obeys shardSelector"

_QUESTION: Final = ListOptions(shard_selector="handloop asks whether you read this", limit=1)
"""
This is not a valid selector. A server that obeys selectors returns an error (kube-apiserver 1.36.3: 500);
others ignore it.
"""


class Sharing(Alone):
    """The mode of --shards. State: _connections, for reaching Leases, is used by the main thread only."""

    flag: ClassVar[str] = "--shards"
    needs_all_namespaces: ClassVar[bool] = True
    divides_objects: ClassVar[bool] = True
    refusals = (ShardingError, ShardMismatchError)

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._connections: LeaseConnections | None = None

    def check(self) -> None:
        """See Alone."""
        if self._options.leader_elect:
            raise ValueError(
                "--shards and --leader-elect are mutually exclusive: with --shards, all replicas work"
            )
        if self._options.namespace:
            raise ValueError("--shards needs all namespaces: remove -n")
        self._shards()

    def access(self) -> Sequence[Any]:
        """See Alone. With shards by namespace, list all namespaces, to skip those of other replicas."""
        others = (LISTING_NAMESPACES,) if self._options.shards_by == "namespace" else ()
        return (*others, *shards_access(self._options.leader_elect_resource_namespace))

    def lease_pattern(self) -> re.Pattern[str]:
        """See Alone. A slot's Lease has a name that ends with a number; a member's, with a pod's name."""
        return re.compile(f"{super().lease_pattern().pattern}-.+")

    def facts(self) -> str:
        """See Alone."""
        return f"{self._shards()}, shared by leases {self.lease()}-*"

    def findings(self, client: Client, allowed: Iterable[Permission]) -> Iterator[str]:
        """
        See Alone. A test request finds out whether the server obeys shardSelector.

        A running program does not send it, because it sees this from what its informers receive.
        """
        told = "by namespace: every server can leave out the namespaces of other replicas"
        if self._options.shards_by == "uid":
            told = f"by uid: {told_by_server(client, allowed)}"
        yield f"{self._options.shards} slots {told}"

    def manager_options(self, process: Process) -> Mapping[str, Any]:
        """See Alone."""
        self._connections = LeaseConnections(
            process.config,
            user_agent=f"{self._options.operator.user_agent} shards",
            metrics=process.services.client_metrics,
            seams=process.seams,
        )
        leases = self._connections.leases(process.services.client.reachability)
        return {"shards": self._shards(), "leases": leases}

    def join(self, manager: Any, process: Process) -> tuple[Any, ...]:  # noqa: ARG002 - its options made it join
        """See Alone."""
        return (self._connections,)

    def _shards(self) -> Shards:
        """
        Return the options for shards.

        Raises: ValueError for a Lease name that is not a valid label value.
        """
        options = self._options
        return Shards(
            options.shards,
            "uid" if options.shards_by == "uid" else "namespace",
            lease=self.lease(),
            lease_duration_seconds=options.leader_elect_lease_duration,
            renew_deadline_seconds=options.leader_elect_renew_deadline,
            retry_period_seconds=options.leader_elect_retry_period,
        )


def told_by_server(client: Client, allowed: Iterable[Permission]) -> str:
    """
    Test how the server treats shardSelector. Returns: OBEYS, IGNORES or UNKNOWN.

    Args: allowed are the user's permissions. The test uses the first kind that can be listed.
    Blocks: for one request, and one more for each kind that is not served. Raises: TransportError if
    the server does not answer.
    """
    for verb, resource, namespace, subresource, name in allowed:
        if verb == "list" and not subresource and not name:
            try:
                client.for_resource(resource).list(namespace, options=_QUESTION)
            except APIError as error:
                if "shard" in error.status.message:
                    return OBEYS
            else:
                return IGNORES
    return UNKNOWN
