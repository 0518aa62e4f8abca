"""The parameters of a list or watch."""

from __future__ import annotations

from typing import Any

import msgspec

from handloop.apis.without import Abridged
from handloop.client.decoding.sieve import Sieve


class ListOptions(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """
    Parameters of a list or watch; a field at its default is not sent.

    resource_version None and "" both mean: not sent, so the server answers with its newest state.
    limit 0 means no limit; timeout_seconds is how long the server keeps a watch open. A server without the
    feature ShardedListAndWatch ignores shard_selector, and a list with it has a remainingItemCount that
    counts the objects of all shards. Two are not sent: sieve drops foreign objects as they are decoded, and
    abridged decodes most objects in part.
    """

    label_selector: str = ""
    field_selector: str = ""
    resource_version: str | None = None
    resource_version_match: str = ""
    limit: int = 0
    continue_token: str = ""
    allow_watch_bookmarks: bool = False
    send_initial_events: bool = False
    timeout_seconds: int | None = None
    shard_selector: str = ""
    sieve: Sieve | None = None
    abridged: Abridged[Any] | None = None

    def query(self, *, watch: bool = False) -> dict[str, str]:
        """The query parameters, in the order the server documents them."""
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
