"""Which events lead to a reconcile."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment
from handloop.apis.grammar.labels import SelectorError
from handloop.apis.meta import FrozenMap
from handloop.apis.resource import Resource
from handloop.controller.runtime.sources.predicates import (
    AnnotationsChanged,
    GenerationChanged,
    LabelsChanged,
    LabelsMatch,
    Predicate,
    PredicateFuncs,
    ResourceVersionChanged,
    all_of,
    any_of,
    has_generation,
    negate,
)
from handloop_sandbox.kinds.kind_table import resource_entries
from handloop_sandbox.kinds.kinds import WITH_GENERATION
from support.builders.deployments import deployment

OLD = deployment("a", 1)
EVERY: tuple[Predicate, ...] = (
    GenerationChanged(),
    LabelsChanged(),
    AnnotationsChanged(),
    ResourceVersionChanged(),
)
NO = PredicateFuncs(create=lambda _: False, update=lambda _old, _new: False, delete=lambda _: False)
YES = PredicateFuncs()


def changed(**metadata: Any) -> Deployment:
    """The old object in a new version, with other metadata."""
    return replace(OLD, metadata=replace(OLD.metadata, resource_version="2", **metadata))


@pytest.mark.parametrize(
    ("change", "yes"),
    [
        ({"generation": 5}, {GenerationChanged}),
        ({"labels": FrozenMap({"a": "b"})}, {LabelsChanged}),
        ({"annotations": FrozenMap({"a": "b"})}, {AnnotationsChanged}),
        ({"deletion_timestamp": "2026-01-01T00:00:00Z"}, {GenerationChanged}),
        ({"finalizers": ("x",)}, set()),
    ],
)
def test_each_looks_at_one_aspect(change: dict[str, Any], yes: set[type]) -> None:
    """An update passes the predicates of what changed, and always that of the version."""
    new = changed(**change)
    assert {type(each) for each in EVERY if each.update(OLD, new)} == yes | {ResourceVersionChanged}


@pytest.mark.parametrize("predicate", EVERY)
def test_a_resync_changes_nothing(predicate: Predicate) -> None:
    """The same state twice passes none of them."""
    assert not predicate.update(OLD, OLD)


@pytest.mark.parametrize("predicate", EVERY)
def test_what_comes_and_goes_always_passes(predicate: Predicate) -> None:
    """They are about updates only."""
    assert predicate.create(OLD)
    assert predicate.delete(OLD)


def verdicts(predicate: Predicate) -> tuple[bool, bool, bool]:
    """Its answers to a create, an update and a delete."""
    return predicate.create(OLD), predicate.update(OLD, changed()), predicate.delete(OLD)


@pytest.mark.parametrize(
    ("predicate", "verdict"),
    [
        (YES, True),
        (NO, False),
        (all_of(), True),
        (all_of(YES, YES), True),
        (all_of(YES, NO), False),
        (any_of(), False),
        (any_of(NO, YES), True),
        (any_of(NO, NO), False),
        (negate(NO), True),
        (negate(YES), False),
        (negate(any_of(NO, negate(all_of(YES, NO)))), False),
    ],
)
def test_predicates_combine(predicate: Predicate, verdict: bool) -> None:
    """and, or, not, for all three kinds of events."""
    assert verdicts(predicate) == (verdict, verdict, verdict)


def test_a_label_selector_chooses_objects() -> None:
    """An update counts while either of its states is chosen: who counts them hears of the last, too."""
    chosen, other = (deployment("a", labels={"app": app}) for app in ("web", "cache"))
    predicate = LabelsMatch("app=web")
    assert [predicate.create(each) for each in (chosen, other)] == [True, False]
    assert [predicate.delete(each) for each in (chosen, other)] == [True, False]
    pairs = ((chosen, chosen), (chosen, other), (other, chosen), (other, other))
    assert [predicate.update(old, new) for old, new in pairs] == [True, True, True, False]
    with pytest.raises(SelectorError):
        LabelsMatch("app in web")


def test_kinds_without_a_generation_are_those_of_the_sandbox() -> None:
    """Whose kinds are compared with a real server's. That of a PriorityClass stays 1."""
    counted = WITH_GENERATION - {("scheduling.k8s.io", "priorityclasses")}
    for one in resource_entries():
        if "update" in one.verbs:
            resource = Resource(group=one.group, version=one.version, kind=one.kind, plural=one.plural)
            assert has_generation(resource) == ((one.group, one.plural) in counted), resource
