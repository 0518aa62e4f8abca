"""The options of informers, which a manager or a factory hands down to each informer that it makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from handloop.apis.meta import Kind
from handloop.apis.without import Abridged
from handloop.client.rest_client import Reachability
from handloop.informers.informer_metrics import MetricsProvider
from handloop.informers.listing import DEFAULT_PAGE_SIZE
from handloop.informers.listwatch import Tweak
from handloop.informers.outage import NO_HINTS, Hints
from handloop.informers.progress import INTERVAL_SECONDS
from handloop.informers.shards import Sharding


class InformerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """
    How the informers of a manager or a factory work: `informer_options=InformerOptions(page_size=100)`.

    resync_seconds = how often handlers get everything again unless they ask otherwise, 0 = never.
    page_size = objects per page of a list, at least 1.
    transform makes of each object, of any kind, the object that the cache keeps. It must be pure and
    idempotent, and keep namespace, name, UID and resource version.
    abridged = kinds of which most objects are decoded in part, which costs less than a transform.
    tweak changes the options of each list and watch, such as to add a selector: a cache holds only that.
    progress_seconds = how often the log reports first lists that are not complete.
    hints = the program's commands for the fix of a list or watch that fails.
    name_suffix ends the informers' names in logs and metrics, and so keeps several factories apart.
    metrics_provider None = nothing is measured.
    reachability of the server: with it, waits for a server that is gone end when it is back.
    stop_poll_seconds = how often a running informer looks at the stop of run; infinity: stop() alone ends it.
    shards None = each informer holds all objects; else those in the slots that this process holds.

    A Manager sets the last five itself.
    Raises: ValueError for a page_size below 1.
    """

    resync_seconds: float = 0
    page_size: int = DEFAULT_PAGE_SIZE
    transform: Callable[[Any], Any] | None = None
    abridged: tuple[Abridged[Any], ...] = ()
    tweak: Tweak | None = None
    progress_seconds: float = INTERVAL_SECONDS
    hints: Hints = NO_HINTS
    name_suffix: str = ""
    metrics_provider: MetricsProvider | None = None
    reachability: Reachability | None = None
    stop_poll_seconds: float = 1.0
    shards: Sharding | None = None

    def __post_init__(self) -> None:
        """Refuse what a server takes for no limit."""
        if self.page_size < 1:
            raise ValueError("page_size must be at least 1")

    def abridged_of(self, kind: type[Kind]) -> Abridged[Any] | None:
        """How objects of a kind are decoded in part; None = all are decoded whole."""
        return next((each for each in self.abridged if each.kind is kind), None)


DEFAULT_OPTIONS: Final = InformerOptions()
