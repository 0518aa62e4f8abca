"""learn/docs/walkthrough.md, step (6): the failures without a buffer and a thread for each handler."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.informers.processor import Notification, ProcessorListener
from support.builders.deployments import deployment
from support.doubles.fake_lister_watcher import FakeSource
from support.rigs.informer_rig import InformerRig


def call_at_once(
    listener: ProcessorListener[Deployment],
    notifications: Sequence[Notification[Deployment]],
    *,
    initial: int = 0,
) -> None:
    """Call the handler on the informer's thread."""
    listener._deliver(list(notifications))


def test_without_a_buffer_per_handler_a_slow_one_stops_all(
    monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    """A handler that hangs keeps the FIFO's lock: the other handler hears nothing, and nothing is added."""
    if not whole:
        monkeypatch.setattr(ProcessorListener, "add", call_at_once)
    begun, may_end = threading.Event(), threading.Event()

    def hang(_line: str) -> None:
        begun.set()
        assert may_end.wait(20)

    source = FakeSource()
    rig = InformerRig(source)
    rig.handle(hang)
    other, _ = rig.handle()
    try:
        rig.run_watching()
        source.add(deployment("first"))
        assert begun.wait(20)
        fifo = rig.informer._fifo
        assert fifo is not None
        if whole:
            other.wait_for("add first 2 late")
            source.add(deployment("second"))
            rig.until(lambda: len(rig.informer.indexer) == 2)
        else:
            assert other.seen() == []
            assert not fifo._lock.acquire(blocking=False)
        may_end.set()
        other.wait_for("add first 2 late")
    finally:
        may_end.set()
        rig.close()
