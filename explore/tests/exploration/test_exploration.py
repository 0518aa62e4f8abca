"""An exploration as its author writes it."""

from __future__ import annotations

from typing import Any

import pytest

from handloop_explore.cluster import VirtualCluster
from handloop_explore.exploration import explore
from handloop_explore.workload import applied
from support.builders.workloads import FOO, foo_workload

WORKLOAD = foo_workload(applied(FOO))
DEPLOYMENT = "/apis/apps/v1/namespaces/default/deployments/a"


@explore(WORKLOAD, plans=1)
def test_the_body_of_a_test_is_an_invariant(cluster: VirtualCluster, tmp_path: Any) -> None:
    """Other fixtures are given to it as ever."""
    assert tmp_path.exists()
    assert cluster.send("GET", DEPLOYMENT)["spec"]["replicas"] == 1


def test_a_false_invariant_has_the_words_of_its_docstring_or_name(request: pytest.FixtureRequest) -> None:
    """And its own message."""

    def two(cluster: VirtualCluster) -> None:
        assert cluster.send("GET", DEPLOYMENT)["spec"]["replicas"] == 2, "one\nof many"

    two.__name__ = "test_there_are_two"
    with pytest.raises(AssertionError, match="undisturbed run already fails:\nthere are two: one\n "):
        explore(WORKLOAD)(two)(request=request)
    two.__doc__ = "A Foo has two replicas\n\nIndeed."
    with pytest.raises(AssertionError, match="A Foo has two replicas: one"):
        explore(WORKLOAD)(two)(request=request)


def test_a_test_without_a_cluster_is_no_invariant() -> None:
    """The message says what it lacks."""

    def nothing() -> None: ...

    with pytest.raises(TypeError, match=r"def nothing\(cluster\)"):
        explore(WORKLOAD)(nothing)


def test_an_interrupted_exploration_is_no_success() -> None:
    """Else pytest would go on after Ctrl-C, as if all plans had been played."""

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explore(WORKLOAD, plans=2, progress=interrupt).check()
