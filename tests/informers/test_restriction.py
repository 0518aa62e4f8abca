from __future__ import annotations

import threading

from handloop.apis.apps_v1 import Deployment
from handloop.informers.delta_fifo import DeltaFIFO
from handloop.informers.indexer import Indexer
from handloop.informers.restriction import Unrestricted, Whole
from handloop.testing.fake_clock import FakeClock
from support.builders.deployments import deployment
from support.doubles.fake_lister_watcher import FakeListerWatcher


def test_without_a_restriction_everything_may_be_held_at_once_and_for_ever() -> None:
    """Nothing is waited for, nothing is hidden, and no change is told."""
    source = FakeListerWatcher()
    whole = Unrestricted().restrict(Deployment, source)
    assert isinstance(whole, Whole)
    assert whole.source is source
    obj, stop, store = deployment("a"), threading.Event(), Indexer[Deployment]()
    assert whole.before_list(stop)
    whole.wait(stop)
    assert (whole.restricts, whole.is_empty, whole.must_list, whole.is_wide) == (False,) * 4
    assert (whole.has_listed(7), whole.version_of("default"), whole.narrowed_by) == (True, 0, "")
    assert (whole.holds(obj), whole.would_hold({}), whole.cache(store)) == (True, True, store)
    assert type(whole.new_fifo(store, None, name="f", clock=FakeClock())) is DeltaFIFO
