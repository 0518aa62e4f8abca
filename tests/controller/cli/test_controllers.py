"""The registry of controllers."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from handloop.controller.cli.controller_names import NAMES
from handloop.controller.cli.controllers import CONTROLLERS, access, kinds, setups
from handloop.controller.foo.access import FOO_ACCESS
from handloop.controller.foo.types import Foo
from handloop.controller.myapp.types import MyApp

ROOT = Path(__file__).parents[3]


def test_each_name_has_a_controller() -> None:
    """The names that `--controllers` takes are those of the registry, in its order."""
    assert tuple(CONTROLLERS) == NAMES


def test_only_the_chosen_count() -> None:
    """Kinds and access of the others are not asked for."""
    assert kinds(("foo",)) == (Foo,)
    assert kinds(NAMES) == (Foo, MyApp)
    assert {entry.rule_resource for entry in access(("foo",))} == {
        entry.rule_resource for entry in FOO_ACCESS
    }
    assert len(access(NAMES)) == len({(entry.resource, entry.subresource) for entry in access(NAMES)})


@pytest.mark.parametrize("name", NAMES)
def test_each_has_a_sample_of_its_kind(name: str) -> None:
    """What E15 tells people to apply exists, and is one of it."""
    (setup,) = setups((name,))
    documents = yaml.safe_load_all((ROOT / setup.sample).read_text(encoding="utf-8"))
    assert setup.kind.resource.kind in [document["kind"] for document in documents]
    assert CONTROLLERS[name] is setup
