"""The messages of E01 to E22: code, exit code, cause and fix."""

from __future__ import annotations

import pytest

from handloop.controller.cli import problems
from handloop.controller.cli.main import run_command
from handloop.controller.cli.problems import EXIT_NO_CRD, EXIT_OK, NEWEST, OLDEST, misfit, version_skew
from handloop.controller.program import PROGRAM
from handloop.controller.runtime.life.runnable import WorkersBusyError
from handloop.controller.runtime.serving.listening import ListenError, PortInUseError


def test_e10_names_flag_and_owner() -> None:
    """The flag that moves the port, and the owner of the port where it is known."""
    known = problems.port_in_use(PortInUseError(":8080", "metrics", "pid 1 (x)"))
    unknown = problems.port_in_use(PortInUseError(":8081", "health"))
    assert (known.code, known.exit_code) == ("E10", 7)
    assert known.causes == ("in use by pid 1 (x)",)
    assert "--metrics-bind-address=:9090 " in known.fixes[0]
    assert "--health-probe-bind-address=:9091 " in unknown.fixes[0]
    elsewhere = problems.port_in_use(ListenError("10.0.0.1:80", "metrics", "cannot assign requested address"))
    assert "--metrics-bind-address=127.0.0.1:9090 " in elsewhere.fixes[0]


def test_e10_for_an_address_that_is_not_ours() -> None:
    """Not taken, but not to be had either; the sandbox's port has its own flag."""
    error = ListenError("10.0.0.1:80", "the sandbox", "cannot assign requested address")
    problem = problems.port_in_use(error)
    assert (problem.exit_code, problem.causes) == (7, ("cannot assign requested address",))
    assert "--sandbox-port" in problem.fixes[0]


def test_e16_names_what_was_left_behind_and_the_flag() -> None:
    """Exit code 1: a write that was cut may be half done; the pod must not be killed before."""
    problem = problems.stop_took_too_long(WorkersBusyError("foo", 2, 30.0), 30.0)
    assert (problem.code, problem.exit_code) == ("E16", 1)
    assert problem.what == "the shutdown left work behind: foo: 2 workers did not end in 30s"
    assert "--shutdown-timeout (now 30s)" in problem.fixes[0]
    assert "terminationGracePeriodSeconds" in problem.fixes[0]


@pytest.mark.parametrize("code", [f"E{number:02}" for number in range(1, 22)])
def test_every_code_has_its_section(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`more:` leads somewhere: the command prints that section, and no other."""
    _handloop, *words = problems.Problem(code=code, exit_code=1, what="").more.split()
    assert run_command(PROGRAM, words) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"## {code}\n\n**")
    assert said.count("## ") == 1


@pytest.mark.parametrize(
    "version",
    ["v1.28.0", "v1.31.4-gke.100", "v1.36.3+k3s1", "1.30", "", "unknown", f"v{NEWEST[0]}.{NEWEST[1]}.9"],
)
def test_a_tested_version_is_not_worth_a_word(version: str) -> None:
    """E13: also with a vendor's suffix; an unknown version is not guessed at."""
    assert version_skew(version) is None


def test_an_old_server_is_named_with_what_is_lost() -> None:
    """E13: a warning, and it goes on."""
    problem = version_skew("v1.21.3")
    assert problem is not None
    tested = f"{OLDEST[0]}.{OLDEST[1]}-{NEWEST[0]}.{NEWEST[1]}"
    assert problem.what == f"server v1.21.3 is older than the tested range {tested}"
    assert (problem.severity, problem.exit_code, problem.code) == ("warning", EXIT_OK, "E13")
    assert problem.causes[0].startswith("the program continues without streamed lists (it lists in pages)")


@pytest.mark.parametrize("version", ["v1.99.0", "v2.0.0"])
def test_a_new_server_is_named(version: str) -> None:
    """E13: nothing is known to be missing. Numbers are compared, not texts."""
    problem = version_skew(version)
    assert problem is not None
    assert "is newer than the tested range" in problem.what
    assert problem.causes == ("the program continues; no missing feature is known",)


def test_a_definition_of_another_release_has_ten_causes_at_most() -> None:
    """E20: the rest is counted."""
    problem = misfit("sites.example.org/v1", [f"spec.f{number}" for number in range(12)], ["apply it"])
    assert (problem.code, problem.exit_code, problem.severity) == ("E20", EXIT_NO_CRD, "warning")
    assert problem.causes[9:] == ("spec.f9", "and 2 more differences")
