"""How old the content of the caches may be."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from handloop.apis.meta import Kind
from handloop.client.resource_client import Client
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.caching.caches import FRESH_SECONDS, Caches
from handloop.controller.runtime.metrics.informer_metrics import CacheState, lag_seconds
from handloop.informers.indexer import Indexer
from handloop.informers.informer_statistics import InformerStatistics
from handloop.informers.reflector import ReflectorStatistics, State
from handloop.seams.seams import Seams
from handloop.testing.fake_clock import FakeClock
from support.builders.converted_sites import Site
from support.doubles.scripted_transport import ScriptedTransport

HEARD_AT = 1000.0
REFLECTOR = ReflectorStatistics(
    state=State.WATCHING,
    listed=0,
    page=0,
    relists={},
    watches=1,
    last_sync_resource_version="7",
    last_event_at=HEARD_AT,
    last_error="",
    retry_at=None,
)
TROUBLED = msgspec.structs.replace(REFLECTOR, state=State.LISTED, last_error="connection refused")


class StillInformer:
    """An informer with an empty store that only shows its state."""

    kind: type[Kind] = Foo

    def __init__(self, reflector: ReflectorStatistics | None, name: str = "foos") -> None:
        self.name = name
        self.indexer: Indexer[Foo] = Indexer()
        self._statistics = InformerStatistics(
            name=name,
            plural=name,
            started=True,
            stopped=False,
            synced=True,
            objects=1,
            queued=0,
            quarantined=0,
            reflector=reflector,
            listeners=(),
        )

    def statistics(self) -> InformerStatistics:
        """The same each time."""
        return self._statistics


def caches(clock: FakeClock, *reflectors: ReflectorStatistics | None) -> Caches:
    """Caches whose informers show that."""
    made = Caches(Client(ScriptedTransport([])), seams=Seams(clock=clock))
    made.informers = informers(*reflectors)  # type: ignore[method-assign]
    return made


def informers(*reflectors: ReflectorStatistics | None) -> Any:
    """What a manager has, as far as it is asked here."""
    made = [StillInformer(reflector, f"kind{number}") for number, reflector in enumerate(reflectors)]
    return lambda: made


@pytest.mark.parametrize(
    ("reflector", "lag"),
    [
        (None, 0.0),
        (msgspec.structs.replace(TROUBLED, last_event_at=None), 0.0),
        (REFLECTOR, 0.0),
        (TROUBLED, 50.0),
        (msgspec.structs.replace(TROUBLED, state=State.WATCHING, last_error="no answer in 75 s"), 0.0),
    ],
)
def test_only_trouble_makes_a_cache_lag(reflector: ReflectorStatistics | None, lag: float) -> None:
    """A watch that is open is as new as the server is quick, also one that had to be opened again."""
    assert lag_seconds(StillInformer(reflector).statistics(), HEARD_AT + 50.0) == lag


def test_a_server_that_is_gone_for_long_makes_us_unready() -> None:
    """A restart of the API server does not; the reason names the old caches, and for how long."""
    clock = FakeClock(start=HEARD_AT + FRESH_SECONDS)
    check = caches(clock, REFLECTOR, TROUBLED).fresh_check
    assert check() is None
    clock.advance(1.0)
    assert check() == "nothing heard from kind1 for 121s"


def test_whoever_converts_is_ready_although_it_waits_for_a_conversion() -> None:
    """Its own is what it waits for: a list that is not converted, or a version that is not defined yet."""
    clock = FakeClock(start=HEARD_AT + 2 * FRESH_SECONDS)
    failed = "conversion webhook for example.org/v1, Kind=Site failed: Post: no endpoints available"
    made = caches(clock, msgspec.structs.replace(TROUBLED, last_error=failed, last_code=500))
    assert made.fresh_check() is None
    missing = msgspec.structs.replace(TROUBLED, last_error="404 page not found", last_code=404)
    made = caches(clock, missing)
    assert "nothing heard from kind0" in str(made.fresh_check())
    for informer in made.informers():
        informer.kind = Site
    assert made.fresh_check() is None


def test_the_lag_is_a_series_per_informer() -> None:
    """Computed at the time of the scrape."""
    registry, clock = CollectorRegistry(auto_describe=True), FakeClock(start=HEARD_AT + 7.0)
    registry.register(CacheState(informers(REFLECTOR, TROUBLED), clock))
    assert registry.get_sample_value("informer_lag_seconds", {"name": "kind0"}) == 0.0
    assert registry.get_sample_value("informer_lag_seconds", {"name": "kind1"}) == 7.0
