"""Steps by chance."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handloop.controller.foo.types import Foo
from handloop.controller.myapp.types import MyApp
from handloop_explore.administrator import RefusedError
from handloop_explore.cluster import VirtualCluster
from handloop_explore.explorer import run_plans
from handloop_explore.generated import generated, merge_patch
from handloop_explore.plan import LATE_PLAN
from handloop_explore.virtual_threads import VirtualThreads
from support.builders.workloads import FOO, MYAPP, foo_workload

JSON = st.recursive(
    st.integers(0, 2) | st.text("ab", max_size=1),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner) | st.lists(inner, max_size=2),
)


def test_the_server_takes_all_steps_and_the_last_state_is_the_sample() -> None:
    """Of a schema with bounds, patterns and rules; the same steps for the same seed."""
    words = set()
    for seed in range(1, 6):
        steps = generated(MyApp, MYAPP, seed=seed)
        assert [one.words for one in steps] == [one.words for one in generated(MyApp, MYAPP, seed=seed)]
        words |= {one.words for one in steps}
        with VirtualThreads() as threads:
            cluster = VirtualCluster(threads, (MyApp,))
            for step in steps:
                if step.do is not None:
                    step.do(cluster)
            spec = cluster.send("GET", cluster.path_of(MYAPP))["spec"]
        defaults = {"port": 8080, "serviceType": "ClusterIP"}
        assert spec == MYAPP["spec"] | defaults
    assert {"create MyApp a", "delete MyApp a", "wait"} < words
    assert len(words) > 15


def test_a_field_may_be_left_alone() -> None:
    """Also where the whole spec might be another."""
    for seed in range(1, 6):
        words = " ".join(one.words for one in generated(Foo, FOO, seed=seed, leave=("replicas",)))
        assert "replicas" not in words
        assert "deploymentName" in words


def test_a_sample_that_is_refused_is_an_error() -> None:
    """With the server's words."""
    with pytest.raises(RefusedError, match="replicas"):
        generated(Foo, {**FOO, "spec": {"replicas": 99}})


def test_what_is_left_of_an_earlier_state_is_found() -> None:
    """As upstream, a Foo keeps the Deployment of its former deploymentName."""
    workload = foo_workload(*generated(Foo, FOO, seed=7, leave=("replicas",)))
    (failure,) = run_plans(workload, replay=str(LATE_PLAN)).failures
    assert "exists in the end, but should not" in failure.verdicts[0]


@given(st.dictionaries(st.sampled_from("abc"), JSON), st.dictionaries(st.sampled_from("abc"), JSON))
def test_a_merge_patch_makes_the_new_of_the_old(old: dict[str, Any], new: dict[str, Any]) -> None:
    """And is empty where there is nothing to do."""
    assert merged(old, merge_patch(old, new)) == new
    assert (merge_patch(old, new) == {}) == (old == new)


def merged(old: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    made = dict(old) if isinstance(old, dict) else {}
    for name, value in patch.items():
        if value is None:
            made.pop(name, None)
        else:
            made[name] = merged(made.get(name), value)
    return made
