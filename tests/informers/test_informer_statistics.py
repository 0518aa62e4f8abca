"""An informer and its reflector at one moment; test_progress.py and test_reflector.py have their lines."""

from __future__ import annotations

import pytest

from support.doubles.fake_lister_watcher import FakeListerWatcher, page
from support.rigs.reflector_rig import ReflectorRig


def test_statistics_are_a_snapshot() -> None:
    """A snapshot does not change with the reflector, and is read-only."""
    rig = ReflectorRig(FakeListerWatcher(lists=[page(rv=5)]))
    before = rig.reflector.statistics()
    rig.last_watch()
    rig.round()
    after = rig.reflector.statistics()
    assert (before.watches, before.last_sync_resource_version, before.last_event_at) == (0, "", None)
    assert (after.watches, after.last_sync_resource_version) == (1, "5")
    with pytest.raises(AttributeError):
        after.watches = 2  # type: ignore[misc]
