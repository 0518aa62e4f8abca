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
    Options for the informers of a manager or factory: `informer_options=InformerOptions(page_size=100)`.

    A Manager itself sets name_suffix and all fields listed after it. Raises: ValueError if page_size is
    below 1.
    """

    resync_seconds: float = 0
    """The default number of seconds after which handlers receive every object again; 0 for never."""

    page_size: int = DEFAULT_PAGE_SIZE
    """Objects per page of a list, at least 1."""

    transform: Callable[[Any], Any] | None = None
    """
    Converts each object, of any kind, into the object to cache. It must be pure and idempotent, and must not
    change namespace, name, UID and resource version. If it fails on an object, the whole object is cached.
    """

    abridged: tuple[Abridged[Any], ...] = ()
    """The kinds of which most objects are decoded only partially, which costs less than a transform."""

    tweak: Tweak | None = None
    """Changes the options of each list and watch, for example by adding a selector that limits the cache."""

    progress_seconds: float = INTERVAL_SECONDS
    """How often, in seconds, the log reports incomplete first lists."""

    hints: Hints = NO_HINTS
    """The program's commands that can fix a failing list or watch."""

    name_suffix: str = ""
    """A suffix for the informers' names in logs and metrics, which keeps several factories apart."""

    metrics_provider: MetricsProvider | None = None
    """If it is None, nothing is measured."""

    reachability: Reachability | None = None
    """Notices when an unreachable server answers again, so that reflectors stop waiting and retry."""

    stop_poll_seconds: float = 1.0
    """How often, in seconds, an informer checks the stop event of run. If infinite, only stop() ends run."""

    restrictions: Restrictions = Unrestricted()
    """Decides which of its kind's objects each informer may store. By default, it may store all of them."""

    quiet: bool = False
    """Whether the error that ends a list-and-watch round is logged only at debug level."""

    def __post_init__(self) -> None:
        """Reject a page size that a server would interpret as no limit."""
        if self.page_size < 1:
            raise ValueError("page_size must be at least 1")

    def abridged_of(self, kind: type[Kind]) -> Abridged[Any] | None:
        """Return which of a kind's objects to decode partially, and how; None to decode all completely."""
        return next((each for each in self.abridged if each.kind is kind), None)


DEFAULT_OPTIONS: Final = InformerOptions()
