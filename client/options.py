"""The parameters of a list or watch."""

from __future__ import annotations

from typing import Any

import msgspec

from handloop.apis.without import Abridged
from handloop.client.decoding.sieve import Sieve


class ListOptions(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The parameters of a list or watch. A field with its default value is not sent."""

    label_selector: str = ""
    """Such as `app=web,tier!=cache`."""

    field_selector: str = ""
    """Such as `metadata.name=a`."""

    resource_version: str | None = None
    """If this is None or "", it is not sent, and the server returns its newest state."""

    resource_version_match: str = ""
    """`NotOlderThan` or `Exact`."""

    limit: int = 0
    """Objects per page; 0 means no limit."""

    continue_token: str = ""
    """The token from the page before."""

    allow_watch_bookmarks: bool = False
    """Whether the server may send bookmarks: events that only report its progress."""

    send_initial_events: bool = False
    """Whether a watch starts with the existing objects."""

    timeout_seconds: int | None = None
    """How long the server keeps a watch open."""

    shard_selector: str = ""
    """
    A server without the feature ShardedListAndWatch ignores this. In a list with a shard selector,
    remainingItemCount includes the objects of all shards.
    """

    sieve: Sieve | None = None
    """Drops unwanted objects during decoding. It is not sent to the server."""

    abridged: Abridged[Any] | None = None
    """Makes the client decode only a part of most objects. It is not sent to the server."""

    def query(self, *, watch: bool = False) -> dict[str, str]:
        """Return the query parameters, in the order of the server's documentation."""
        pairs = {
            "labelSelector": self.label_selector,
            "fieldSelector": self.field_selector,
            "resourceVersion": self.resource_version or "",
            "resourceVersionMatch": self.resource_version_match,
            "limit": str(self.limit) if self.limit else "",
            "continue": self.continue_token,
            "watch": "true" if watch else "",
            "allowWatchBookmarks": "true" if self.allow_watch_bookmarks else "",
            "sendInitialEvents": "true" if self.send_initial_events else "",
            "timeoutSeconds": "" if self.timeout_seconds is None else str(self.timeout_seconds),
            "shardSelector": self.shard_selector,
        }
        return {key: value for key, value in pairs.items() if value}
