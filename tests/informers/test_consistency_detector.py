"""A streamed list, compared with a list."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.client.errors import ConnectionRefused
from handloop.client.options import ListOptions
from handloop.informers.consistency_detector import (
    ENVIRONMENT_VARIABLE,
    ConsistencyDetector,
    DataInconsistent,
    is_consistency_detection_on,
)
from handloop.informers.initial_list import unchanged
from support.captured_logs import captured_logs
from support.deployments import at_version, deployment
from support.fake_clock import FakeClock
from support.fake_lister_watcher import FakeListerWatcher, ListAnswer, expired, page


class _Rig:
    """A detector on scripted lists."""

    def __init__(self, *lists: ListAnswer, transform: Callable[[Deployment], Deployment] = unchanged) -> None:
        self.source = FakeListerWatcher(lists=lists)
        self.stopped = threading.Event()
        self.clock = FakeClock(moves_itself=True)
        self.detector: ConsistencyDetector[Deployment] = ConsistencyDetector(
            "deployments.apps",
            self.source.list,
            transform=transform,
            stopped=self.stopped,
            clock=self.clock,
        )

    def check(self, *streamed: Deployment, rv: str = "5") -> None:
        with captured_logs():
            self.detector.check(list(streamed), rv)


def test_the_same_objects_are_consistent() -> None:
    """WL-12. Whatever their order; the list is asked for at exactly that version."""
    rig = _Rig(page(deployment("b"), deployment("a"), rv=5))
    rig.check(deployment("a"), deployment("b"))
    assert rig.source.list_options == [ListOptions(resource_version="5", resource_version_match="Exact")]


def test_transformed_objects_are_compared_with_transformed_ones() -> None:
    """What the transform changes is no difference; what it leaves is."""
    rig = _Rig(
        page(deployment("a"), rv=5),
        page(deployment("b"), rv=5),
        transform=lambda obj: at_version(obj, 4),
    )
    rig.check(at_version(deployment("a"), 4))
    with pytest.raises(DataInconsistent):
        rig.check(at_version(deployment("a"), 4))


@pytest.mark.parametrize(
    ("listed", "keys"),
    [
        ([deployment("a")], "default/b"),
        ([deployment("a"), deployment("b"), deployment("c")], "default/c"),
        ([at_version(deployment("a"), 4), deployment("b")], "default/a"),
        ([], "default/a, default/b"),
    ],
    ids=["missing", "too many", "another version", "nothing"],
)
def test_any_difference_is_an_error(listed: list[Deployment], keys: str) -> None:
    """WL-12. It names the keys that differ."""
    rig = _Rig(page(*listed, rv=5))
    with pytest.raises(
        DataInconsistent, match=rf"^data inconsistency detected for deployments.apps: {keys}$"
    ):
        rig.check(deployment("a"), deployment("b"))


@pytest.mark.parametrize("rv", ["0", ""])
def test_without_a_version_there_is_nothing_to_ask_for(rv: str) -> None:
    """WL-12. At "0" the check is skipped: a server refuses to be asked for exactly that."""
    rig = _Rig()
    rig.check(deployment("a"), rv=rv)
    assert rig.source.list_options == []


def test_a_list_that_fails_is_asked_for_again() -> None:
    """Every second, until it comes."""
    rig = _Rig(ConnectionRefused("refused"), ConnectionRefused("refused"), page(deployment("a"), rv=5))
    rig.check(deployment("a"))
    assert rig.clock.slept == [1.0, 1.0]


def test_a_version_that_is_gone_is_not_waited_for() -> None:
    """The server has forgotten it: there is nothing to compare with."""
    rig = _Rig(expired())
    rig.check(deployment("a"))
    assert rig.clock.slept == []


def test_a_stopped_reflector_does_not_check() -> None:
    """Nothing is asked for any more."""
    rig = _Rig()
    rig.stopped.set()
    rig.check(deployment("a"))
    assert rig.source.list_options == []


@pytest.mark.parametrize(("value", "on"), [("true", True), ("1", True), ("false", False), ("yes", False)])
def test_the_environment_turns_it_on(value: str, on: bool) -> None:
    """As Go reads a boolean; off when nothing is said."""
    assert is_consistency_detection_on({ENVIRONMENT_VARIABLE: value}) is on
    assert not is_consistency_detection_on({})
