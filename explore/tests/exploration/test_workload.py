"""The steps of a workload, and what an author wants to hold."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import Mock

import pytest

from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import ObjectMeta
from handloop.controller.foo.types import Foo, FooSpec
from handloop.controller.myapp.types import MyApp
from handloop_explore.cluster import VirtualCluster
from handloop_explore.workload import Workload, applied, broken, changed, deleted, invariant
from support.builders.workloads import FOO
from support.doubles.unspeakable import UNSPEAKABLE


def test_steps_create_change_and_delete(cluster: VirtualCluster, tmp_path: Path) -> None:
    """Objects, manifests or files; each step has its words."""
    file = tmp_path / "foo.yaml"
    file.write_text(json.dumps({**FOO, "spec": {"deploymentName": "d"}}), encoding="utf-8")
    path = cluster.path_of(FOO)
    typed = Foo(metadata=ObjectMeta(name="a"), spec=FooSpec(deployment_name="b", replicas=2))
    for step, words, name in (
        (applied(FOO), "create Foo a", "a"),
        (changed(FOO, {"spec": {"deploymentName": "c"}}), "change Foo a", "c"),
        (deleted(FOO), "delete Foo a", None),
        (applied(typed), "create Foo a", "b"),
        (deleted(file), "delete Foo a", None),
        (applied(file), "create Foo a", "d"),
    ):
        assert step.do
        step.do(cluster)
        found = cluster.find(path)
        assert step.words == words
        assert (found and found["spec"]["deploymentName"]) == name


def test_a_definition_takes_the_place_of_the_types() -> None:
    """As one with more versions; the CRDs of other kinds stay."""
    given = {**custom_resource_definition(Foo), "spec": {"of": "the test"}}
    found = Workload(print, [], definitions=[given]).defined([Foo, MyApp])
    assert found == [given, custom_resource_definition(MyApp)]


def test_an_invariant_breaks_by_a_false_value_or_an_error(cluster: VirtualCluster) -> None:
    """Its words are told."""
    assert broken(invariant("there is a cluster", lambda seen: seen), cluster) == ""
    assert broken(invariant("never", lambda _: False), cluster) == "never"
    assert broken(invariant("a Foo", lambda seen: seen.send("GET", "/nowhere")), cluster).startswith(
        "a Foo: "
    )
    for error in (SystemExit(3), *UNSPEAKABLE):
        holds = Mock(side_effect=error)
        assert broken(invariant("never ends", holds), cluster).startswith("never ends: ")


def test_an_invariant_without_words_has_those_of_its_function(cluster: VirtualCluster) -> None:
    """The first line of its docstring, its name, or where a lambda is."""

    def a_foo_is_there(seen: VirtualCluster) -> object:
        return seen.find(seen.path_of(FOO))

    assert broken(invariant(a_foo_is_there), cluster) == "a foo is there"
    a_foo_is_there.__doc__ = "There is a Foo\n\nIndeed."
    assert broken(invariant(a_foo_is_there), cluster) == "There is a Foo"
    assert broken(invariant(lambda _: False), cluster).startswith("the invariant at test_workload.py:")
    with pytest.raises(TypeError, match="two is one: add a function that checks this"):
        invariant("two is one")  # type: ignore[call-overload]
