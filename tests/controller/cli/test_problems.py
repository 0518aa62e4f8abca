"""The messages of E01 to E15: code, exit code, cause and fix."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from client.errors import (
    ConfigError,
    ConfigProblem,
    ConnectionRefused,
    CredentialsError,
    NotFound,
    TLSError,
    Unauthorized,
)
from client.status import Status
from controller.cli import problems
from controller.runtime.health import PortInUseError

DOCS = Path(__file__).parents[3] / problems.DOCS


def test_the_shape_is_error_cause_fix_more() -> None:
    """One line each, in this order, and a pointer into the docs."""
    problem = problems.Problem(code="E04", exit_code=4, what="w", causes=("c",), fixes=("f", "g"))
    assert str(problem).splitlines() == [
        "error: w",
        "  cause: c",
        "  fix: f",
        "  fix: g",
        "  more: docs/errors.md#e04",
    ]


def test_e01_lists_where_it_looked() -> None:
    """Nothing configured: every place and what was found there, and the way without a cluster."""
    error = ConfigError(
        ConfigProblem.NOT_FOUND,
        "nothing",
        looked_in=(("--kubeconfig", "not given"), ("$KUBECONFIG", "unset")),
    )
    problem = problems.config_problem(error)
    assert (problem.code, problem.exit_code) == ("E01", 3)
    assert problem.causes == ("looked in: --kubeconfig (not given), $KUBECONFIG (unset)",)
    assert "--sandbox" in problem.fixes[0]


def test_e02_names_the_file_and_the_line() -> None:
    """A broken kubeconfig: path, line, what is wrong there."""
    error = ConfigError(
        ConfigProblem.MALFORMED, "is not YAML", cause="mapping values are not allowed", path="/x/y", line=7
    )
    problem = problems.config_problem(error)
    assert problem.what == "kubeconfig /x/y: is not YAML"
    assert problem.causes == ("line 7: mapping values are not allowed",)
    assert problem.fixes


@pytest.mark.parametrize(
    ("path", "hint"), [("~/.kube/config", "did not expand ~"), ("/a:/b", "export KUBECONFIG=")]
)
def test_e02_recognises_usual_slips(path: str, hint: str) -> None:
    """An unexpanded ~ and a list given as one path are said."""
    problem = problems.config_problem(ConfigError(ConfigProblem.UNREADABLE, "no such file", path=path))
    assert any(hint in fix for fix in problem.fixes)


def test_e03_lists_contexts_and_guesses() -> None:
    """The contexts that exist, and the nearest one."""
    error = ConfigError(
        ConfigProblem.CONTEXT, 'context "prd" not in kubeconfig', available=("kind-dev", "prod")
    )
    problem = problems.config_problem(error)
    assert problem.code == "E03"
    assert "kind-dev, prod" in problem.causes[0]
    assert "did you mean prod?" in problem.fixes[0]


def test_e06_for_a_missing_exec_plugin_gives_its_install_hint() -> None:
    """The kubeconfig's own words on installing the program come first."""
    error = ConfigError(
        ConfigProblem.EXEC_PLUGIN, 'exec plugin "x" not found in PATH', plugin="x", install_hint="install x"
    )
    for problem in (
        problems.config_problem(error),
        problems.server_problem(CredentialsError(error), host="h"),
    ):
        assert problem is not None
        assert (problem.code, problem.exit_code, problem.fixes[0]) == ("E06", 3, "install x")


def test_e04_mentions_containers_only_for_loopback() -> None:
    """127.0.0.1 refused inside a container is the usual cause."""
    local = problems.server_problem(ConnectionRefused("connection refused"), host="https://127.0.0.1:1")
    remote = problems.server_problem(ConnectionRefused("connection refused"), host="https://10.0.0.1:1")
    assert local is not None
    assert remote is not None
    assert (local.code, local.exit_code, local.causes) == ("E04", 4, ("connection refused",))
    assert any("container" in fix for fix in local.fixes)
    assert not any("container" in fix for fix in remote.fixes)


def test_e05_never_suggests_to_skip_verification() -> None:
    """Names in the certificate help; turning the check off does not."""
    problem = problems.server_problem(TLSError("not trusted", names=("a", "b")), host="https://x")
    assert problem is not None
    assert problem.code == "E05"
    assert "a, b" in problem.causes[1]
    assert "insecure" not in str(problem)


def test_e06_for_401() -> None:
    """The server does not know us."""
    problem = problems.server_problem(Unauthorized(Status(code=401)), host="h")
    assert problem is not None
    assert (problem.code, problem.exit_code) == ("E06", 3)


def test_other_answers_are_no_problem_of_the_connection() -> None:
    """A 404 says that the server is there."""
    assert problems.server_problem(NotFound(Status(code=404)), host="h") is None
    assert problems.server_problem(ValueError("x"), host="h") is None


def test_e07_and_e08_tell_a_missing_crd_from_another_version() -> None:
    """Both exit with 6 and print the command that installs the CRD."""
    missing = problems.missing_resource("foos.samplecontroller.k8s.io", "v1alpha1", ())
    other = problems.missing_resource("foos.samplecontroller.k8s.io", "v1alpha1", ("v1beta1",))
    assert (missing.code, other.code) == ("E07", "E08")
    assert missing.exit_code == other.exit_code == 6
    assert "manifests crd | kubectl apply" in missing.fixes[0]
    assert "serves v1beta1" in other.what


def test_e08_for_a_missing_status_subresource_is_a_warning() -> None:
    """The controller works on; the reader knows what may be lost."""
    assert str(problems.no_status_subresource("foos.x")).startswith("warning: ")


def test_e09_lists_everything_denied_at_once() -> None:
    """All missing permissions, how many of how many, and the service account's special case."""
    user = "system:serviceaccount:demo:default"
    problem = problems.missing_permissions(user, ("watch foos.x", "create events"), 11, "at cluster scope")
    assert (problem.code, problem.exit_code) == ("E09", 5)
    assert problem.causes == ("missing 2 of 11 permissions: watch foos.x, create events",)
    assert any("--serviceaccount=demo:default" in fix for fix in problem.fixes)
    assert any("serviceAccountName" in fix for fix in problem.fixes)
    person = problems.missing_permissions("alice", ("x",), 1, "at cluster scope")
    assert not any("service" in fix for fix in person.fixes)


def test_e10_names_flag_and_owner() -> None:
    """Which flag moves the port, and who has it where that is known."""
    known = problems.port_in_use(PortInUseError(":8080", "metrics", "pid 1 (x)"))
    unknown = problems.port_in_use(PortInUseError(":8081", "health"))
    assert (known.code, known.exit_code) == ("E10", 7)
    assert known.causes == ("in use by pid 1 (x)",)
    assert "--metrics-bind-address" in known.fixes[0]
    assert "--health-probe-bind-address" in unknown.fixes[0]


def test_e15_suggests_all_namespaces_when_one_was_chosen() -> None:
    """Nothing to do is information, not an error."""
    assert len(problems.nothing_to_do("Foo", "").fixes) == 1
    scoped = problems.nothing_to_do("Foo", "demo")
    assert '"demo"' in scoped.what
    assert "-A" in scoped.fixes[0]
    assert str(scoped).startswith("info: ")


@pytest.mark.parametrize(
    "code", ["E01", "E02", "E03", "E04", "E05", "E06", "E07", "E08", "E09", "E10", "E14", "E15"]
)
def test_every_code_has_its_section(code: str) -> None:
    """`more:` leads somewhere."""
    assert re.search(rf"^## {code}$", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
