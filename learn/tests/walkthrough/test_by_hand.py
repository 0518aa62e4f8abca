"""A controller whose caches, workers and time a test drives by hand."""

from __future__ import annotations

from handloop.controller.foo.controller import FooController
from handloop_learn.by_hand import ByHand
from handloop_learn.stage import DEPLOYMENTS, Stage


def test_nothing_happens_by_itself() -> None:
    """The cache has a Foo once it sees it, a worker syncs it when told, and a failure waits for the clock."""
    with Stage(lifelike=False) as stage, ByHand(stage, FooController) as hand:
        stage.apply("foo")
        assert hand.work() == 0
        hand.see()
        stage.sandbox.faults.error(500, verbs=["create"], resources=["deployments"], count=1)
        assert hand.work() == 1
        assert [*hand.delays()] == [0.005]
        assert stage.send("GET", f"{DEPLOYMENTS}/foo")["kind"] == "Status"
        assert hand.work() == 2
        assert stage.send("GET", f"{DEPLOYMENTS}/foo")["kind"] == "Deployment"
