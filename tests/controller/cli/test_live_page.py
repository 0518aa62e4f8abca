"""The options of the live page, and the page of a run."""

from __future__ import annotations

import json
import re
import socket
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from handloop.controller.cli import flags
from handloop.controller.cli.flags import LEARN_INSTALL, UsageError
from handloop.controller.cli.live_page import live_page
from handloop.controller.cli.values import LOOPBACK
from handloop.controller.runtime.serving.bind_address import BindAddress
from handloop.walkthrough.top.stream import Stream
from support.builders.options import new_options, parse_options
from support.checks.captured_logs import captured_logs
from support.checks.deadline import until
from support.rigs.program import ON_FREE_PORTS, SECONDS, running, wait_ready_page


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
    with pytest.raises(UsageError, match="needs a --debug-listen on loopback"):
        parse_options(["--debug-listen=:9000", "--debug-controls"], {})
    for words in (["--debug-controls"], ["--sandbox", "--debug-listen=0", "--debug-controls"]):
        with pytest.raises(UsageError, match="it needs --debug-listen"):
            parse_options(words, {})


def test_without_its_extra_the_page_shows_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for, it is an error; the sandbox runs without it, and its banner reports that."""
    monkeypatch.setattr(flags, "find_spec", lambda name: None if name == "aiohttp_sse" else find_spec(name))
    with pytest.raises(UsageError, match=r"handloop\[learn\]"):
        parse_options(["--debug-listen=127.0.0.1:0"], {})
    options = parse_options(["--sandbox"], {})
    assert options.debug_listen is None
    with live_page(options) as page:
        assert page.shown == f"off: {LEARN_INSTALL}"


def test_a_page_that_is_off_is_not_in_the_banner() -> None:
    """Nothing is served, and nothing is printed."""
    with live_page(new_options()) as page:
        assert page.shown == ""


def test_a_public_page_is_warned_of() -> None:
    """It is served, without controls."""
    with captured_logs() as logs, live_page(new_options(debug_listen=BindAddress("", 0))) as page:
        assert page.shown.startswith("http://127.0.0.1:")
    (warning,) = [entry for entry in logs if entry["log_level"] == "warning"]
    assert "open to other machines" in warning["event"]


def state_with_workers(url: str, count: int) -> Any:
    """The page's state once it has so many workers; before, nothing."""
    with urllib.request.urlopen(url.replace("live/", "state"), timeout=20) as answer:
        state = json.load(answer)
    return state if len(state["workers"]) == count else None


def test_the_program_serves_its_page(tmp_path: Path) -> None:
    """With the sandbox its URL is in the banner; the state has both controllers, and the experiments."""
    arguments = ("--sandbox", "--sandbox-kubeconfig", str(tmp_path / "kubeconfig"), *ON_FREE_PORTS)
    with running(*arguments, folder=tmp_path) as program:
        wait_ready_page(program)
        url = program.wait_line(r'live="(http://127[^"]+)"')[1]
        state = until(lambda: state_with_workers(url, 4), "four workers", seconds=SECONDS)
        assert [queue["name"] for queue in state["queues"]] == ["foo", "myapp"]
        blocked = {offer["name"] for offer in state["controls"] if offer["blocked"]}
        assert blocked == {"steal-lease"}
        # `top` looks there
        assert (tmp_path / "live-url").read_text(encoding="utf-8") == f"{url}\n"
        assert program.stop() == 0
    assert not (tmp_path / "live-url").exists()


def test_a_viewer_outlives_a_program_that_is_killed(tmp_path: Path) -> None:
    """After kill -9 in mid-stream it reports the loss, and shows the next program at the address."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    kubeconfig = ("--sandbox-kubeconfig", str(tmp_path / "kubeconfig"))
    arguments = ("--sandbox", f"--debug-listen=127.0.0.1:{port}", *kubeconfig, *ON_FREE_PORTS)
    told = Stream(lambda: f"http://127.0.0.1:{port}", pause=lambda _: None).messages()

    def next_run() -> str:
        run: str = next(one for one in told if one.event == "snapshot").data["run"]
        return run

    with running(*arguments, folder=tmp_path) as program:
        program.wait_line(r'live="http')
        first = next_run()
        program.kill()
        lost = next(one for one in told if one.event == "lost")
        assert re.match("the connection broke|the program ended the stream", lost.data)
        assert next(told).data.startswith(f"nothing answers at 127.0.0.1:{port}: connection refused")
    with running(*arguments, folder=tmp_path) as program:
        program.wait_line(r'live="http')
        assert next_run() != first
        assert program.stop() == 0
