"""What a change of annotations says to a controller: pure functions."""

from __future__ import annotations

import pytest

from handloop.apis.core_v1 import Namespace
from handloop.apis.meta import FrozenMap, ObjectMeta
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.sources.commands import commands_of

FOOS = commands_of(Foo.resource)
PAUSED, POKED = "samplecontroller.k8s.io/paused", "samplecontroller.k8s.io/reconcile-at"


def foo(annotations: dict[str, str]) -> Foo:
    return Foo(metadata=ObjectMeta(name="a", annotations=FrozenMap(annotations)))


def test_the_keys_begin_with_the_group() -> None:
    """The core group has none, and a key without a prefix is anybody's."""
    assert FOOS == (PAUSED, POKED)
    assert commands_of(Namespace.resource) == ("core/paused", "core/reconcile-at")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({}, {}, ""),
        ({}, {PAUSED: "true"}, "paused"),
        ({PAUSED: "true"}, {}, "resumed"),
        ({PAUSED: "true"}, {PAUSED: "True"}, "resumed"),
        ({PAUSED: "true"}, {PAUSED: "true", "else": "x"}, ""),
        ({}, {"example.com/paused": "true"}, ""),
        ({}, {POKED: ""}, "poked"),
        ({POKED: "1"}, {POKED: "2"}, "poked"),
        ({POKED: "1"}, {POKED: "1"}, ""),
        ({POKED: "1"}, {}, ""),
        ({POKED: "1"}, {POKED: "2", PAUSED: "true"}, "paused"),
    ],
)
def test_what_a_change_says(before: dict[str, str], after: dict[str, str], said: str) -> None:
    """A value that pauses nothing is said, too: the reconcile tells the user."""
    assert FOOS.said(foo(before), foo(after)) == said


@pytest.mark.parametrize("value", ["", "True", "yes", "1", " true", "true\n"])
def test_only_true_pauses(value: str) -> None:
    """As of every annotation of this kind in Kubernetes: text, and no boolean."""
    assert FOOS.are_to_pause({PAUSED: "true"})
    assert not FOOS.are_to_pause({PAUSED: value})
