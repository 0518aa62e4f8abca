"""The names that `--controllers` takes."""

from __future__ import annotations

import pytest

from handloop.controller.cli.controller_names import NAMES, controller_names
from handloop.controller.cli.flags import UsageError, parse_options


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
