"""The options of the live page, and the page of a run."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from handloop.controller.cli import extensions
from handloop.controller.cli.flags import UsageError
from handloop.controller.cli.live_page import live_page
from handloop.controller.cli.values import LOOPBACK
from handloop.controller.runtime.serving.bind_address import BindAddress
from support.builders.options import new_options, parse_options


@pytest.mark.parametrize(
    ("argv", "listen", "controls"),
    [
        ([], None, False),
        (["--sandbox"], LOOPBACK, True),
        (["--sandbox", "--debug-listen=0"], None, False),
        (["--sandbox", "--debug-listen=:9000"], BindAddress("", 9000), False),
        (["--sandbox", "--debug-controls=false"], LOOPBACK, False),
        (["--debug-listen=127.0.0.1:9000"], BindAddress("127.0.0.1", 9000), False),
        (["--debug-listen=127.0.0.1:9000", "--debug-controls"], BindAddress("127.0.0.1", 9000), True),
    ],
)
def test_the_page_is_on_with_the_sandbox_or_where_it_is_asked_for(
    argv: list[str], listen: BindAddress | None, controls: bool
) -> None:
    """Controls come by themselves only on the sandbox, on loopback."""
    options = parse_options(argv, {})
    assert (options.debug_listen, options.debug_controls) == (listen, controls)


def test_controls_are_refused_where_other_machines_reach_the_page() -> None:
    """With a sentence on what to type."""
    with pytest.raises(UsageError, match="set --debug-listen to loopback"):
        parse_options(["--debug-listen=:9000", "--debug-controls"], {})
    for words in (["--debug-controls"], ["--sandbox", "--debug-listen=0", "--debug-controls"]):
        with pytest.raises(UsageError, match="set --debug-listen"):
            parse_options(words, {})


def test_without_its_extra_the_page_shows_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for, it is an error; the sandbox runs without it, and its banner reports that."""
    monkeypatch.setattr(
        extensions, "find_spec", lambda name: None if name == "aiohttp_sse" else find_spec(name)
    )
    with pytest.raises(UsageError, match=r"handloop\[learn\]"):
        parse_options(["--debug-listen=127.0.0.1:0"], {})
    options = parse_options(["--sandbox"], {})
    assert options.debug_listen is None
    with live_page(options) as page:
        assert page.shown == 'off: pip install "handloop[learn]"'


def test_a_page_that_is_off_is_not_in_the_banner() -> None:
    """Nothing is served, and nothing is printed."""
    with live_page(new_options()) as page:
        assert page.shown == ""
