"""The registry of controllers, and the names that `--controllers` takes."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from handloop.controller.cli.controller_names import NAMES, controller_names
from handloop.controller.cli.controllers import CONTROLLERS, access, kinds, setups
from handloop.controller.cli.flags import UsageError, parse_options
from handloop.controller.foo.access import FOO_ACCESS
from handloop.controller.foo.types import Foo
from handloop.controller.myapp.types import MyApp

ROOT = Path(__file__).parents[3]


def test_all_run_by_default() -> None:
    """Foo and MyApp, in one process."""
    assert parse_options([], {}).controllers == NAMES == ("foo", "myapp")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("foo", ("foo",)),
        ("myapp,foo", ("foo", "myapp")),
        (" myapp , foo ,", ("foo", "myapp")),
        ("foo,foo", ("foo",)),
        ("*", ("foo", "myapp")),
        ("foo,*", ("foo", "myapp")),
    ],
)
def test_a_list_selects(text: str, names: tuple[str, ...]) -> None:
    """In whatever order they are named, each once, * for all."""
    assert controller_names(text) == names
    assert parse_options([f"--controllers={text}"], {}).controllers == names


def test_the_environment_selects_unless_a_flag_does() -> None:
    """CONTROLLER_CONTROLLERS, as every flag has its variable."""
    environment = {"CONTROLLER_CONTROLLERS": "myapp"}
    assert parse_options([], environment).controllers == ("myapp",)
    assert parse_options(["--controllers", "foo"], environment).controllers == ("foo",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fo", '--controllers: unknown controller "fo"; did you mean foo?'),
        ("foo,my-app", '--controllers: unknown controller "my-app"; did you mean myapp?'),
        ("xyz", '--controllers: unknown controller "xyz"; have: foo, myapp'),
        (",", "--controllers: at least 1 controller is needed; have: foo, myapp"),
    ],
)
def test_an_unknown_name_is_a_usage_error(text: str, message: str) -> None:
    """With the nearest name that exists."""
    with pytest.raises(UsageError) as caught:
        parse_options([f"--controllers={text}"], {})
    assert str(caught.value) == message


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
