"""The controllers of this program, and what they need of a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from handloop.controller.cli.controllers import CONTROLLERS, declared_access, kinds, setups
from handloop.controller.cli.options import Options
from handloop.controller.cli.program import ADD
from handloop.controller.cli.values import NAMES
from handloop.controller.foo.access import FOO_ACCESS
from handloop.controller.foo.types import Foo
from handloop.controller.myapp.types import MyApp

ROOT = Path(__file__).parents[3]


def test_each_name_has_a_controller() -> None:
    """The names that `--controllers` takes are those of the registry, in its order, and each can be added."""
    assert tuple(CONTROLLERS) == tuple(ADD) == NAMES
    assert [setup.name for setup in CONTROLLERS.values()] == list(NAMES)


def test_only_the_chosen_count() -> None:
    """Kinds and access of the others are not asked for."""
    assert kinds(("foo",)) == (Foo,)
    assert kinds(NAMES) == (Foo, MyApp)
    declared = declared_access(Options(controllers=("foo",)))
    assert {entry.rule_resource for entry in declared} == {entry.rule_resource for entry in FOO_ACCESS}


@pytest.mark.parametrize("name", NAMES)
def test_each_has_a_sample_of_its_kind(name: str) -> None:
    """What E15 tells people to apply exists, and is one of it."""
    (setup,) = setups((name,))
    documents = yaml.safe_load_all((ROOT / setup.sample).read_text(encoding="utf-8"))
    assert setup.kind.resource.kind in [document["kind"] for document in documents]
    assert CONTROLLERS[name] is setup


def test_by_default_it_is_everything_every_controller_needs() -> None:
    """Each verb that some controller declares is in it."""
    wanted = {(entry.rule_resource, verb) for entry in declared_access(Options()) for verb in entry.verbs}
    assert {(entry.rule_resource, verb) for entry in FOO_ACCESS for verb in entry.verbs} <= wanted
    assert Foo in kinds(Options().controllers)


def test_nothing_is_declared_twice() -> None:
    """What two controllers share is one rule."""
    entries = [(entry.resource, entry.subresource, entry.purpose) for entry in declared_access(Options())]
    assert len(entries) == len(set(entries))
