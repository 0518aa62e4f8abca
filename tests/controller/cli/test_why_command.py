"""`why` as people type it: to a page on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from handloop.controller.cli.main import run_command
from handloop.controller.program import PROGRAM
from handloop.controller.runtime.reconciling.explainer import Explanation, Why
from handloop.controller.runtime.reconciling.why_page import why_page
from handloop.controller.runtime.serving.page_server import PageServer
from handloop.informers.keys import ObjectName


class Manager:
    """Knows `n/a` alone."""

    def why(self, name: ObjectName, controller: str) -> Why:
        known = name == ("n", "a")
        says = (f"asked of {controller or 'all'} \x1b[2J",)
        found = Explanation(controller="foo", kind="Foo", name=str(name), says=says, known=known)
        return Why(process="me", elsewhere="", holder="", explanations=(found,))


@pytest.fixture
def address() -> Iterator[str]:
    server = PageServer("127.0.0.1", 0, {"/why": why_page(Manager())}, purpose="metrics", private=("/why",))
    server.start()
    yield f"--address=127.0.0.1:{server.port}"
    server.stop()


def test_a_process_is_asked(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Its words, with what a terminal would obey in escapes; exit code 1 if nobody knows the name."""
    assert run_command(PROGRAM, ["why", "n/a", address]) == 0
    assert capsys.readouterr().out == "foo: Foo n/a\n  asked of all \\u001b[2J\n"
    assert run_command(PROGRAM, ["why", "foo", "n/a", address, "-o", "json"]) == 0
    (said,) = json.loads(capsys.readouterr().out)["explanations"]
    assert said["says"] == ["asked of foo \x1b[2J"]
    assert run_command(PROGRAM, ["why", "n/b", address]) == 1
    assert capsys.readouterr().out == "foo: Foo n/b\n  asked of all \\u001b[2J\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["a", "b", "c"], "one object at a time"),
        (
            ["n/a", "--address=127.0.0.1:1"],
            'connection refused\n  fix: the program\'s line "Starting ..." has',
        ),
        (["a/b/c"], "answers 400: unexpected key format"),
        (["n/a", "--address=", "--kubeconfig=nothing"], "no such file"),
    ],
)
def test_what_cannot_be_asked_is_told(
    address: str, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2."""
    given = words if any("address" in word for word in words) else [*words, address]
    assert run_command(PROGRAM, ["why", *given]) == 2
    assert told in capsys.readouterr().err


def test_under_its_name_as_a_plugin_it_is_the_command(
    address: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What kubectl hands on are the words after `kubectl greeter why`."""
    monkeypatch.setattr("sys.argv", ["/home/u/bin/kubectl-greeter-why", "n/a", address])
    assert run_command(PROGRAM) == 0
    assert capsys.readouterr().out.startswith("foo: Foo n/a")


@pytest.mark.parametrize("word", ["doctor", "plan"])
def test_so_are_its_other_plugins(
    word: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each shows the help of its own command."""
    monkeypatch.setattr("sys.argv", [f"/home/u/bin/kubectl-greeter-{word}", "--help"])
    with pytest.raises(SystemExit):
        run_command(PROGRAM)
    assert f"{word} [-h]" in capsys.readouterr().out
