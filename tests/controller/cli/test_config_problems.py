"""E01, E02, E03 and E06 in words."""

from __future__ import annotations

import pytest

from handloop.client.errors import (
    ConfigError,
    ConfigProblem,
    CredentialsError,
)
from handloop.controller.cli import config_problems, server_problems


def test_e01_lists_where_it_looked() -> None:
    """Nothing configured: every place and what was found there, and the way without a cluster."""
    error = ConfigError(
        ConfigProblem.NOT_FOUND,
        "nothing",
        looked_in=(("--kubeconfig", "not given"), ("$KUBECONFIG", "unset")),
    )
    problem = config_problems.config_problem(error)
    assert (problem.code, problem.exit_code) == ("E01", 3)
    assert problem.causes == ("looked in: --kubeconfig (not given), $KUBECONFIG (unset)",)
    assert "--sandbox" in problem.fixes[0]


def test_e02_names_the_file_and_the_line() -> None:
    """A broken kubeconfig: path, line, what is wrong there."""
    error = ConfigError(
        ConfigProblem.MALFORMED, "is not YAML", cause="mapping values are not allowed", path="/x/y", line=7
    )
    problem = config_problems.config_problem(error)
    assert problem.what == "kubeconfig /x/y: is not YAML"
    assert problem.causes == ("line 7: mapping values are not allowed",)
    assert problem.fixes


def test_e02_says_the_line_once() -> None:
    """Where the cause names the line already it is not named again."""
    error = ConfigError(ConfigProblem.MALFORMED, "m", cause="line 7: bad", line=7, fix="f")
    problem = config_problems.config_problem(error)
    assert (problem.causes, problem.fixes) == (("line 7: bad",), ("f",))
    assert config_problems.config_problem(ConfigError(ConfigProblem.MALFORMED, "m")).causes == ()


def test_e02_for_a_file_that_is_not_there_says_so_first() -> None:
    """`kubeconfig /x/y: no such file` is the headline."""
    error = ConfigError(ConfigProblem.UNREADABLE, "kubeconfig /x/y", cause="no such file", path="/x/y")
    assert config_problems.config_problem(error).what == "kubeconfig /x/y: no such file"


@pytest.mark.parametrize(
    ("path", "hint"), [("~/.kube/config", "did not expand ~"), ("/a:/b", "export KUBECONFIG=")]
)
def test_e02_recognises_usual_slips(path: str, hint: str) -> None:
    """An unexpanded ~ and a list given as one path are said."""
    problem = config_problems.config_problem(ConfigError(ConfigProblem.UNREADABLE, "no such file", path=path))
    assert any(hint in fix for fix in problem.fixes)


def test_e03_lists_contexts_and_guesses() -> None:
    """The contexts that exist, and the nearest one."""
    error = ConfigError(
        ConfigProblem.CONTEXT, 'context "prd" not in kubeconfig', available=("kind-dev", "prod")
    )
    problem = config_problems.config_problem(error)
    assert problem.code == "E03"
    assert "kind-dev, prod" in problem.causes[0]
    assert "did you mean prod?" in problem.fixes[0]


def test_e06_for_a_missing_exec_plugin_gives_its_install_hint() -> None:
    """The kubeconfig's own words on installing the program come first."""
    error = ConfigError(
        ConfigProblem.EXEC_PLUGIN, 'exec plugin "x" not found in PATH', plugin="x", install_hint="install x"
    )
    for problem in (
        config_problems.config_problem(error),
        server_problems.server_problem(CredentialsError(error), host="h"),
    ):
        assert (problem.code, problem.exit_code, problem.fixes[0]) == ("E06", 3, "install x")


def test_e06_for_a_plugin_says_each_fix_once() -> None:
    """Install hint and fix are often the same words."""
    error = ConfigError(ConfigProblem.EXEC_PLUGIN, "x not found", install_hint="get x", fix="get x")
    problem = config_problems.config_problem(error)
    assert problem.fixes == ("get x",)
    assert problem.causes


def test_e06_a_paragraph_becomes_a_line() -> None:
    """Install hints such as that of Azure's kubelogin have several lines; a fix has one."""
    hint = "\nkubelogin is not installed.\n\nTo learn more, please go to https://aka.ms/aks/kubelogin\n"
    error = ConfigError(
        ConfigProblem.EXEC_PLUGIN, "x failed", install_hint=hint, cause="a\n  b", fix="f  (g)"
    )
    problem = config_problems.config_problem(error)
    assert problem.causes == ("a b",)
    assert problem.fixes == (
        "kubelogin is not installed. To learn more, please go to https://aka.ms/aks/kubelogin",
        "f  (g)",
    )
