from __future__ import annotations

import pytest

from handloop.informers.informer_statistics import InformerStatistics
from handloop.informers.processor import ListenerStatistics


@pytest.mark.parametrize(("synced", "all_synced"), [((), True), ((True, True), True), ((True, False), False)])
def test_listeners_are_synced_when_each_is(synced: tuple[bool, ...], all_synced: bool) -> None:
    """An informer without handlers has nobody to wait for."""
    listeners = tuple(
        ListenerStatistics(name="h", pending=0, handled=0, panics=0, synced=one) for one in synced
    )
    statistics = InformerStatistics(
        name="deployments.apps",
        plural="deployments",
        started=True,
        stopped=False,
        synced=True,
        objects=0,
        queued=0,
        quarantined=0,
        reflector=None,
        listeners=listeners,
    )
    assert statistics.listeners_synced is all_synced
