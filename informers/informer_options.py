"""The options of informers, which a manager or a factory passes to each informer that it creates."""

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
    How the informers of a manager or a factory work: `informer_options=InformerOptions(page_size=100)`.

    A Manager sets the fields from name_suffix on itself. Raises: ValueError for a page_size below 1.
    """

    resync_seconds: float = 0
    """How often handlers receive every object again unless they ask for another period; 0 = never."""

    page_size: int = DEFAULT_PAGE_SIZE
    """Objects per page of a list, at least 1."""

    transform: Callable[[Any], Any] | None = None
    """
    Turns each object, of any kind, into the object that the cache keeps. It must be pure and idempotent, and
    keep namespace, name, UID and resource version. If it fails on an object, the whole object is kept.
    """

    abridged: tuple[Abridged[Any], ...] = ()
    """Kinds whose objects are mostly decoded in part, which costs less than a transform."""

    tweak: Tweak | None = None
    """Changes the options of each list and watch, for example adds a selector, which limits the cache."""

    progress_seconds: float = INTERVAL_SECONDS
    """How often incomplete first lists are reported in the log."""

    hints: Hints = NO_HINTS
    """The program's commands that can fix a list or watch that fails."""

    name_suffix: str = ""
    """A suffix for the informers' names in logs and metrics, which keeps several factories apart."""

    metrics_provider: MetricsProvider | None = None
    """None = nothing is measured."""

    reachability: Reachability | None = None
    """Tells whether the server answers: a wait for an unreachable server ends when it answers again."""

    stop_poll_seconds: float = 1.0
    """How often a running informer checks the stop of run; infinity: only stop() ends it."""

    restrictions: Restrictions = Unrestricted()
    """What each informer may hold of its kind. The default is everything."""

    quiet: bool = False
    """Whether to log the end of a round of list and watch only for debugging, as something else serves."""

    def __post_init__(self) -> None:
        """Refuse what a server takes for no limit."""
        if self.page_size < 1:
            raise ValueError("page_size must be at least 1")

    def abridged_of(self, kind: type[Kind]) -> Abridged[Any] | None:
        """Return how objects of a kind are decoded in part; None = all are decoded whole."""
        return next((each for each in self.abridged if each.kind is kind), None)


DEFAULT_OPTIONS: Final = InformerOptions()
