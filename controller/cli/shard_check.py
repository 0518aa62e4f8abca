"""Finds out with a request whether a server obeys shardSelector: nothing that it publishes says so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from handloop.client.access_review import Permission
from handloop.client.errors import APIError
from handloop.client.options import ListOptions
from handloop.client.resource_client import Client

OBEYS: Final = "the server obeys shardSelector, so each replica reads its own objects alone"
IGNORES: Final = (
    "the server ignores shardSelector (its feature gate ShardedListAndWatch is off), so each replica reads "
    "all objects and drops those of the others"
)
UNKNOWN: Final = "no kind can be listed, so nobody knows whether the server obeys shardSelector"

_QUESTION: Final = ListOptions(shard_selector="handloop asks whether you read this", limit=1)
"""Not a selector: a server that obeys refuses it (kube-apiserver 1.36.3 with a 500), others ignore it."""


def told_by_server(client: Client, allowed: Iterable[Permission]) -> str:
    """
    Return how the server treats shardSelector: OBEYS, IGNORES or UNKNOWN.

    Args: allowed are permissions of the user; the first kind that can be listed gives the answer.
    Blocks: for a request, and one more for each kind that is not served. Raises: TransportError.
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
