"""What is wrong with a kubeconfig or its credentials, in words: E01, E02, E03, E06."""

from __future__ import annotations

import difflib

from handloop.client.errors import ConfigError, ConfigProblem
from handloop.controller.cli.problems import EXIT_CONFIG, Problem


def config_problem(error: ConfigError) -> Problem:
    """E01, E02, E03, or E06 for a kubeconfig that cannot be used."""
    builders = {
        ConfigProblem.NOT_FOUND: _no_configuration,
        ConfigProblem.CONTEXT: _no_context,
        ConfigProblem.EXEC_PLUGIN: _no_credentials,
        ConfigProblem.CREDENTIALS: _no_credentials,
    }
    return builders.get(error.kind, _bad_kubeconfig)(error)


def _no_configuration(error: ConfigError) -> Problem:
    looked = ", ".join(f"{place} ({found})" for place, found in error.looked_in)
    return Problem(
        code="E01",
        exit_code=EXIT_CONFIG,
        what="no cluster configuration found",
        causes=(f"looked in: {looked}",),
        fixes=(
            "python -m controller --sandbox   (no cluster needed)",
            "python -m controller --kubeconfig PATH",
        ),
    )


def _bad_kubeconfig(error: ConfigError) -> Problem:
    unreadable = error.kind is ConfigProblem.UNREADABLE and error.message.startswith("kubeconfig ")
    where = f"kubeconfig {error.path}: " if error.path and error.path not in error.message else ""
    return Problem(
        code="E02",
        exit_code=EXIT_CONFIG,
        what=where + (str(error) if unreadable else error.message),
        causes=("a file that is named has to be there, and to hold something",)
        if unreadable
        else _cause_in_file(error),
        fixes=(error.fix,) if error.fix else _usual_slips(error.path),
    )


def _cause_in_file(error: ConfigError) -> tuple[str, ...]:
    if not error.cause:
        return ()
    numbered = error.line is None or error.cause.startswith("line ")
    return (error.cause if numbered else f"line {error.line}: {error.cause}",)


def _usual_slips(path: str) -> tuple[str, ...]:
    if path.startswith("~"):
        return (f"the shell did not expand ~: write $HOME{path[1:]}",)
    if ":" in path:
        return (f"--kubeconfig takes one file; for a list: export KUBECONFIG={path}",)
    return ("kubectl config view   (what your files say)",)


def _no_context(error: ConfigError) -> Problem:
    wanted = error.message.split('"')[1] if error.message.count('"') >= 2 else ""  # noqa: PLR2004 - a pair
    near = difflib.get_close_matches(wanted, error.available, n=1, cutoff=0.4) if wanted else []
    have = ", ".join(error.available) or "none"
    fixes = [f"did you mean {near[0]}? --context {near[0]}"] if near else []
    return Problem(
        code="E03",
        exit_code=EXIT_CONFIG,
        what=error.message.partition("; have: ")[0],
        causes=(f"contexts there are: {have}",),
        fixes=(*fixes, "kubectl config get-contexts"),
    )


def _one_line(words: str) -> str:
    """What a program printed, or a kubeconfig says about it, may be a paragraph."""
    return " ".join(words.split()) if "\n" in words else words


def _no_credentials(error: ConfigError) -> Problem:
    fixes = [text for text in dict.fromkeys(map(_one_line, (error.install_hint, error.fix))) if text]
    asked = "the user in the kubeconfig gets its credentials from this program"
    cause = _one_line(error.cause) or (asked if error.kind is ConfigProblem.EXEC_PLUGIN else "")
    return Problem(
        code="E06",
        exit_code=EXIT_CONFIG,
        what=error.message,
        causes=(cause,) if cause else (),
        fixes=tuple(fixes) or ("log in again with your provider's tool, then: kubectl auth whoami",),
    )
