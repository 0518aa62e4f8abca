"""For every test: no thread outlives it, locks are taken in rising rank, properties see the same examples."""

from __future__ import annotations

import faulthandler
import gc
import os
import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Final

import pytest
import structlog
from hypothesis import HealthCheck, settings

from handloop.seams.locks import set_lock_factory
from support.doubles.ranked_lock import RankedLock

_GRACE_SECONDS: Final = 20.0
_EXIT_SECONDS: Final = 60.0
_ORDER: Final = Path(__file__).parents[3] / "build" / "test-order"

# the same examples in every run, however slow; `--hypothesis-profile=new-examples` looks for others
_slow = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", _slow, derandomize=True)
settings.register_profile("new-examples", _slow, print_blob=True)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def _as_structlog_was() -> Iterator[None]:
    """Its capture_logs leaves structlog configured, and our loggers would follow that from then on."""
    was_configured = structlog.is_configured()
    yield
    if not was_configured:
        structlog.reset_defaults()


def pytest_configure(config: pytest.Config) -> None:
    """Of several workers, each keeps the order in which it ran its tests, so that it can be run again."""
    if worker := os.environ.get("PYTEST_XDIST_WORKER"):
        config.pluginmanager.register(_Order(_ORDER / worker))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected lives until the end: the cycle collector never has to look at it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """A worker that does not end after its last test shows what it waits for, and is ended."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        faulthandler.dump_traceback_later(_EXIT_SECONDS, exit=True, file=2)


class _Order:
    """Writes down one worker's tests: an argument a line, as `pytest @build/test-order/gw0` reads them."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        path.write_text("", encoding="utf-8")

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        with self._path.open("a", encoding="utf-8") as kept:
            kept.write(nodeid + "\n")


@pytest.fixture(autouse=True)
def _lock_ranks() -> Iterator[None]:
    before = set_lock_factory(RankedLock)
    yield
    set_lock_factory(before)


@pytest.fixture(autouse=True)
def _no_leaked_threads() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + _GRACE_SECONDS
    while leaked := [t for t in threading.enumerate() if t not in before]:
        left = deadline - time.monotonic()
        if left <= 0:
            pytest.fail(f"threads outlived the test: {sorted(t.name for t in leaked)}")
        leaked[0].join(left)
