"""For every test: no thread outlives it, locks are taken in rising rank, properties see the same examples."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from handloop.workqueue.locks import set_lock_factory
from support.ranked_lock import RankedLock

_GRACE_SECONDS = 2.0

# the same examples in every run, however slow; `--hypothesis-profile=default` looks for new ones
settings.register_profile(
    "repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")


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
