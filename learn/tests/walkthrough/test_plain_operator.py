"""The program of `walkthrough live`: the plain Foo controller, and no other."""

from __future__ import annotations

import pytest

from handloop.controller.cli.operator import Operator
from handloop.controller.foo.runnable import add_foo
from handloop.controller.foo.types import Foo
from handloop.picture.parts import Parts
from handloop.picture.snippets import snippets
from handloop.testing.eventually import eventually
from handloop_learn import plain_operator
from handloop_learn.live.scenes import scenes
from handloop_learn.plain_operator import PLAIN, run_live
from support.rigs.managed_sandbox import ManagedSandbox
from tools.steps import ROOT

DEPLOYMENT = "/apis/apps/v1/namespaces/default/deployments/a"


def test_it_runs_on_the_sandbox_with_the_flags_of_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page says that it is the plain one by the name of the controller, too."""
    ran = []
    monkeypatch.setattr(plain_operator, "run_command", lambda operator, words: ran.append((operator, words)))
    run_live(["--workers=1"])
    assert ran == [(PLAIN, ["run", "--sandbox", "--workers=1"])]
    assert [setup.name for setup in PLAIN.chosen(())] == ["plain-foo"]


def test_with_the_file_of_exercise_16_it_runs_the_readers_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the page shows their lines at the steps that they do."""
    ran: list[tuple[Operator, list[str]]] = []
    shown = dict(snippets())
    monkeypatch.setattr(plain_operator, "run_command", lambda operator, words: ran.append((operator, words)))
    monkeypatch.setattr(plain_operator, "snippets", lambda: shown)
    monkeypatch.setattr("handloop_learn.live.scenes.snippets", lambda: shown)
    run_live([str(ROOT / "learn/solutions/exercise_16_your_own.py"), "--workers=1"])
    ((operator, words),) = ran
    assert words == ["run", "--sandbox", "--workers=1"]
    assert [setup.name for setup in operator.chosen(())] == ["plain-foo"]
    own = [number for number, snippet in shown.items() if snippet.path.startswith("exercise_")]
    assert sorted(own) == [1, 4, 5, 6, 8, 9, 10, 11, 12]
    files = {code.partition(":")[0]: each["path"] for code, each in scenes().source.items()}
    assert files["9"] == "exercise_08_sync_handler.py"
    assert files["10"] == "controller/foo/controller.py"
    cluster = ManagedSandbox(Foo)
    manager = cluster.manager()
    operator.set_up(manager, ())
    with cluster.running(manager):
        eventually(lambda: Parts(manager, manager.runnables()).foo_controller() == "plain", "the own one")
        cluster.foo("a", 2)
        eventually(lambda: cluster.transport().request("GET", DEPLOYMENT).status == 200, "made")


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    """A sentence, and how to get one."""
    assert run_live(["nothing.py"]) == 2
    assert "there is no file nothing.py\n  fix: handloop walkthrough check 16" in capsys.readouterr().err


def test_it_makes_the_deployment_of_a_foo() -> None:
    """The page can tell it from the production controller."""
    cluster = ManagedSandbox(Foo)
    manager = cluster.manager()
    PLAIN.set_up(manager, ())
    with cluster.running(manager):
        parts = Parts(manager, manager.runnables())
        eventually(lambda: parts.foo_controller() == "plain", "the plain one")
        cluster.foo("a", 2)
        eventually(lambda: cluster.transport().request("GET", DEPLOYMENT).status == 200, "made")
    other_cluster = ManagedSandbox(Foo)
    other = other_cluster.manager()
    parts = Parts(other, {"foo": add_foo(other, workers=1)})
    assert parts.foo_controller() == ""
    with other_cluster.running(other):
        eventually(lambda: parts.foo_controller() == "production", "the production controller")
