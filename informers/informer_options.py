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
from handloop.informers.restriction import Restrictions, Unrestricted


class InformerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """
    How the informers of a manager or a factory work: `informer_options=InformerOptions(page_size=100)`.

    A Manager sets the fields from name_suffix on itself. Raises: ValueError for a page_size below 1.
    """

    resync_seconds: float = 0
    """How often handlers get everything again unless they ask otherwise; 0 = never."""

    page_size: int = DEFAULT_PAGE_SIZE
    """Objects per page of a list, at least 1."""

    transform: Callable[[Any], Any] | None = None
    """
    Makes of each object, of any kind, the object that the cache keeps. It must be pure and idempotent, and
    keep namespace, name, UID and resource version. An object on which it fails is kept whole.
    """

    abridged: tuple[Abridged[Any], ...] = ()
    """Kinds of which most objects are decoded in part, which costs less than a transform."""

    tweak: Tweak | None = None
    """Changes the options of each list and watch, such as to add a selector: a cache holds only that."""

    progress_seconds: float = INTERVAL_SECONDS
    """How often the log reports first lists that are not complete."""

    hints: Hints = NO_HINTS
    """The program's commands for the fix of a list or watch that fails."""

    name_suffix: str = ""
    """Ends the informers' names in logs and metrics, and so keeps several factories apart."""

    metrics_provider: MetricsProvider | None = None
    """None = nothing is measured."""

    reachability: Reachability | None = None
    """Of the server: with it, waits for a server that is gone end when it is back."""

    stop_poll_seconds: float = 1.0
    """How often a running informer looks at the stop of run; infinity: only stop() ends it."""

    restrictions: Restrictions = Unrestricted()
    """What each informer may hold of its kind: by default everything."""

    quiet: bool = False
    """What ends a round of list and watch is logged only for debugging: another way serves meanwhile."""

    def __post_init__(self) -> None:
        """Refuse what a server takes for no limit."""
        if self.page_size < 1:
            raise ValueError("page_size must be at least 1")

    def abridged_of(self, kind: type[Kind]) -> Abridged[Any] | None:
        """How objects of a kind are decoded in part; None = all are decoded whole."""
        return next((each for each in self.abridged if each.kind is kind), None)


DEFAULT_OPTIONS: Final = InformerOptions()
