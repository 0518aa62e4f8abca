"""A sample of plans on a real API server."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from handloop.client.config import ClientConfig, load_config
from handloop.client.transport import HTTPTransport
from handloop_explore.on_server import WHATS, run_on_server, sample
from handloop_explore.program import EXIT_FOUND, EXIT_USAGE, main
from support.builders.workloads import foo_workload
from support.checks.docs_page import blocks_of
from support.servers.cluster import CRDS, Administrator
from support.servers.turns import real_kubeconfig, turn

GREETINGS = "greetings.example.org"


def test_a_sample_is_of_all_writes_and_kinds_and_the_same_for_a_seed() -> None:
    """Each plan is one strike; a small workload has fewer than are wanted."""
    assert sample(40, 12, 1) == sample(40, 12, 1) != sample(40, 12, 2)
    assert len(sample(40, 12, 1)) == 12
    assert {str(plan) for plan in sample(1, 12, 1)} == {f"1:{what}" for what in WHATS}


@pytest.mark.parametrize("replay", ["1:stale", "r1:lost"])
def test_what_cannot_be_played_on_a_server_is_refused(replay: str) -> None:
    """Before anything is sent."""
    with pytest.raises(ValueError, match="on a server, a plan can only strike writes"):
        run_on_server(foo_workload(), ClientConfig(host="http://127.0.0.1:1"), replay=replay)


def test_a_kubeconfig_that_is_not_there_is_a_mistake_of_the_command_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It names the file."""
    assert main(["support.builders.workloads:MYAPP_LIFE", "--on=absent"], io.StringIO()) == EXIT_USAGE
    assert "--on absent: " in capsys.readouterr().err


@pytest.fixture
def real() -> Iterator[Administrator]:
    """The real server, with Foos; Greetings are taken away again."""
    kubeconfig = real_kubeconfig()
    with turn(kubeconfig, "foos", alone=False):
        transport = HTTPTransport(load_config(kubeconfig=str(kubeconfig)))
        administrator = Administrator(transport)
        yield administrator
        if GREETINGS in administrator.list(CRDS):
            administrator.delete(CRDS, GREETINGS)
        transport.close()


@pytest.mark.nightly
@pytest.mark.real
def test_a_planted_bug_is_found_on_a_real_server(
    real: Administrator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the crash after the first write; the namespace is deleted."""
    for name, text in blocks_of("../explore/docs/exploring.md").items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.modules", dict(__import__("sys").modules))
    out = io.StringIO()
    words = ["careless:set_up", "--apply=hello.yaml", f"--on={real_kubeconfig()}", "--replay=1:crash-after"]
    assert main(words, out) == EXIT_FOUND
    assert "hello is missing at settled() 1" in out.getvalue()
    assert "the process ends, by kill -9" in out.getvalue()


@pytest.mark.nightly
@pytest.mark.real
def test_foo_is_green_in_a_sample(real: Administrator) -> None:
    """Each kind of strike at some write; afterwards its namespace is going."""
    config = load_config(kubeconfig=str(real_kubeconfig()))
    report = run_on_server(foo_workload(), config, plans=6)
    report.check()
    namespace = report.undisturbed.writes[0].path.split("/")[5]
    left = real.list("/api/v1/namespaces").get(namespace)
    assert left is None or left["status"]["phase"] == "Terminating"
