"""The options that a manager or a factory passes to each informer that it creates."""

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
from handloop.informers.restriction import Restrictions, Unrestricted


class InformerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """
    How a manager's or factory's informers work: `informer_options=InformerOptions(page_size=100)`.

    A Manager itself sets name_suffix and the fields after it. Raises: ValueError for a page_size below 1.
    """

    resync_seconds: float = 0
    """How often handlers receive every object again unless they ask for another period; 0 for never."""

    page_size: int = DEFAULT_PAGE_SIZE
    """Objects per page of a list, at least 1."""

    transform: Callable[[Any], Any] | None = None
    """
    Turns each object, whatever its kind, into the object that the cache keeps. It must be pure and
    idempotent, and must keep namespace, name, UID and resource version. If it fails on an object, the whole
    object is kept.
    """

    abridged: tuple[Abridged[Any], ...] = ()
    """The kinds whose objects are mostly decoded only in part, which costs less than a transform."""

    tweak: Tweak | None = None
    """Changes the options of each list and watch, for example adding a selector, which limits the cache."""

    progress_seconds: float = INTERVAL_SECONDS
    """How often the log reports incomplete first lists."""

    hints: Hints = NO_HINTS
    """The program's commands that can fix a failing list or watch."""

    name_suffix: str = ""
    """A suffix for the informers' names in logs and metrics, which keeps several factories apart."""

    metrics_provider: MetricsProvider | None = None
    """If it is None, nothing is measured."""

    reachability: Reachability | None = None
    """Tells whether the server answers, so that waits for an unreachable server end when it answers again."""

    stop_poll_seconds: float = 1.0
    """How often a running informer checks run's stop event; with infinity, only stop() ends it."""

    restrictions: Restrictions = Unrestricted()
    """Which of its kind's objects each informer may hold. The default is all of them."""

    quiet: bool = False
    """Whether to log the end of a list-and-watch round only at debug level, as something else reports it."""

    def __post_init__(self) -> None:
        """Refuse a page size that a server would take to mean no limit."""
        if self.page_size < 1:
            raise ValueError("page_size must be at least 1")

    def abridged_of(self, kind: type[Kind]) -> Abridged[Any] | None:
        """Return how a kind's objects are decoded in part, or None if all are decoded whole."""
        return next((each for each in self.abridged if each.kind is kind), None)


DEFAULT_OPTIONS: Final = InformerOptions()
