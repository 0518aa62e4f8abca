"""The live page of a run, served."""

from __future__ import annotations

import json
import re
import socket
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

from handloop.controller.cli.live_page import live_page
from handloop.controller.cli.values import LOOPBACK
from handloop.controller.runtime.serving.bind_address import BindAddress
from handloop.testing.eventually import eventually as until
from handloop_learn.top.actions import run_control
from handloop_learn.top.stream import Stream
from support.builders.options import new_options
from support.checks.captured_logs import captured_logs
from support.rigs.program import ON_FREE_PORTS, SECONDS, running, wait_ready_page


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


def blocked(state: Any) -> set[str]:
    """The experiments that cannot be done, which change as the parts of the program are built one by one."""
    return {offer["name"] for offer in state["controls"] if offer["blocked"]}


def test_the_program_serves_its_page(tmp_path: Path) -> None:
    """With the sandbox its URL is in the banner; the state has both controllers, and the experiments."""
    arguments = ("--sandbox", "--sandbox-kubeconfig", str(tmp_path / "kubeconfig"), *ON_FREE_PORTS)
    with running(*arguments, folder=tmp_path) as program:
        wait_ready_page(program)
        url = program.wait_line(r'live="(http://127[^"]+)"')[1]
        state = until(lambda: state_with_workers(url, 4), "four workers", seconds=SECONDS)
        assert [queue["name"] for queue in state["queues"]] == ["foo", "myapp"]
        assert blocked(state) == {"steal-lease"}
        # `top` looks there
        assert (tmp_path / "live-url").read_text(encoding="utf-8") == f"{url}\n"
        assert program.stop() == 0
    assert not (tmp_path / "live-url").exists()


def test_a_lost_lease_is_the_end_of_the_page(tmp_path: Path) -> None:
    """Another holder is written: the viewer gets the reason and the state of then before the process ends."""
    kubeconfig = ("--sandbox-kubeconfig", str(tmp_path / "kubeconfig"))
    quick = ("--leader-elect-retry-period=100ms", "--leader-elect-resource-namespace=default")
    arguments = ("--sandbox", "--leader-elect", *quick, *kubeconfig, *ON_FREE_PORTS)
    with running(*arguments, folder=tmp_path) as program:
        url = program.wait_line(r'live="(http://[^"]+)/debug/live/"')[1]
        told = Stream(lambda: url, pause=lambda _: None).messages()
        states = (one.data for one in told if one.event == "state")
        next(one for one in states if one["controls"] and not blocked(one) and one["election"]["leading"])
        assert run_control(url, "steal-lease", "") == "somebody-else holds the lease"
        seen = []
        while (message := next(told)).event != "end":
            seen.append(message)
        assert message.data["reason"].startswith("lost leadership of lease default/")
        state = next(one.data for one in reversed(seen) if one.event == "state")
        assert (state["election"]["leading"], state["election"]["holder"]) == (False, "somebody-else")
        assert program.wait() == 1


def test_an_error_that_ends_the_program_is_its_reason() -> None:
    """For the viewers of its page."""
    with suppress(LookupError), live_page(new_options(debug_listen=LOOPBACK)) as page:
        told = Stream(lambda: page.shown.removesuffix("/debug/live/"), pause=lambda _: None).messages()
        assert next(told).event == "connected"
        raise LookupError("no such thing")
    assert next(one.data for one in told if one.event == "end") == {"reason": "LookupError: no such thing"}


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
