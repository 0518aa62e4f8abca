"""
The command line and the environment, read into Options.

Precedence: flag, then environment variable, then default. Go's single dash (`-kubeconfig=x`) is accepted.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from importlib.util import find_spec
from typing import Any, Final, NoReturn

from handloop.controller.cli.options import ASKING, Options
from handloop.controller.cli.terminal import PROGRAM
from handloop.controller.cli.values import boolean


class UsageError(Exception):
    """The command line cannot be followed. The message says why, fix what to type instead."""

    def __init__(self, message: str, fix: str = f"{PROGRAM} --help") -> None:
        super().__init__(message)
        self.fix = fix


COMMANDS: Final[Mapping[str, str]] = {
    "run": "run the controllers (the default)",
    "sandbox": "run the built-in API server alone",
    "doctor": "check configuration, server, CRDs and permissions, and say what is missing",
    "manifests": "print generated manifests: crd or rbac",
    "version": "print the version",
}

EXAMPLES: Final = f"""
examples:
  {PROGRAM} --sandbox                       no cluster needed
  {PROGRAM} --kubeconfig ~/.kube/config     the current context's cluster
  {PROGRAM} manifests crd | kubectl apply -f -
"""

SANDBOX_INSTALL: Final = 'pip install "handloop[sandbox]"'
SANDBOX_LIMITS: Final = """\
The sandbox keeps everything in memory and runs no containers: pods are simulated.
"""

_FLAGS: Final = {
    f.name: ("--verbosity" if f.name == "verbosity" else "--" + f.name.replace("_", "-"))
    for f in fields(Options)
    if "parse" in f.metadata
}
_SWITCHES: Final = ("sandbox", "all-namespaces", "help")


def _metadata(name: str) -> Mapping[str, Any]:
    return next(f.metadata for f in fields(Options) if f.name == name)


class _Parser(argparse.ArgumentParser):
    """argparse that raises in place of exiting, and names the nearest flag."""

    def error(self, message: str) -> NoReturn:
        unknown = re.search(r"unrecognized arguments: (\S+)", message)
        if unknown and unknown[1].startswith("-"):
            raise UsageError(_unknown_flag(unknown[1], self._option_string_actions))
        raise UsageError(message)


def _unknown_flag(flag: str, known: Mapping[str, Any]) -> str:
    name = flag.split("=", 1)[0]
    near = difflib.get_close_matches("--" + name.lstrip("-"), list(known), n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"unknown flag {name}{hint}"


def _parser(command: str) -> _Parser:
    parser = _Parser(
        prog=PROGRAM if command == "run" else f"{PROGRAM} {command}",
        description=COMMANDS[command],
        epilog=_commands_text(command) + _environment(command) + EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    if command == "manifests":
        parser.add_argument("what", choices=("crd", "rbac"))
    if command == "run":
        parser.add_argument(
            "--sandbox", action="store_true", help="run on a built-in sandbox in this process"
        )
    for name, flag in _FLAGS.items():
        meta = _metadata(name)
        if command not in meta["commands"]:
            continue
        spellings = [f"-{meta['short']}"] if meta["short"] else []
        # `--leader-elect` alone means true, as with Go's flags
        bare: dict[str, Any] = {"nargs": "?", "const": "true"} if meta["parse"] is boolean else {}
        parser.add_argument(*spellings, flag, dest=name, metavar=meta["metavar"], help=meta["help"], **bare)
    if command in _metadata("namespace")["commands"]:
        parser.add_argument(
            "-A", "--all-namespaces", dest="namespace", action="store_const", const="", help="all namespaces"
        )
    return parser


def _environment(command: str) -> str:
    rows = [
        f"  {meta['env']:42} {_FLAGS[name]}"
        for name, meta in ((name, _metadata(name)) for name in _FLAGS)
        if meta["env"] and command in meta["commands"]
    ]
    return "\nenvironment (a flag wins):\n" + "\n".join(rows) + "\n" if rows else ""


def _commands_text(command: str) -> str:
    if command == "sandbox":
        return f"\nlimits:\n  {SANDBOX_LIMITS}{_sandbox_differences()}"
    if command != "run":
        return ""
    rows = [f"  {name:12} {text}" for name, text in COMMANDS.items()]
    return "\ncommands:\n" + "\n".join(rows) + "\n"


def _sandbox_differences() -> str:
    # an image does not contain it
    from handloop.sandbox.differences import bullets  # noqa: PLC0415

    return f"\nwhere it is not like a kube-apiserver with its controllers:\n{bullets('  ', 100)}"


def _require_sandbox() -> None:
    """Raises: UsageError where the sandbox, or the HTTP server that it needs, is not installed."""
    if find_spec("handloop.sandbox") is None or find_spec("aiohttp") is None:
        raise UsageError("the sandbox is not installed", fix=SANDBOX_INSTALL)


def _double_dashes(argv: Sequence[str]) -> list[str]:
    """Go's `-kubeconfig=x` as `--kubeconfig=x`; `-v4`, `-n x` and `-A` stay."""
    names = {flag[2:] for flag in _FLAGS.values()} | set(_SWITCHES)
    out = []
    for word in argv:
        name = word[1:].split("=", 1)[0]
        out.append("-" + word if word.startswith("-") and name in names and len(name) > 1 else word)
    return ["-v=" + word[4:] if word.startswith("--v=") else "-v" if word == "--v" else word for word in out]


def parse_options(
    argv: Sequence[str],
    environment: Mapping[str, str] = os.environ,
    *,
    service_account: str = "",
) -> Options:
    """
    Read a command line.

    Args: service_account is the folder in which a pod finds its account, "" = the usual one.
    Raises: UsageError with a message for people; SystemExit(0) after printing help.
    """
    words = list(argv)
    command = words.pop(0) if words and words[0] in COMMANDS else "run"
    if words and not words[0].startswith("-") and command == "run":
        near = difflib.get_close_matches(words[0], list(COMMANDS), n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; have: {', '.join(COMMANDS)}"
        raise UsageError(f'unknown command "{words[0]}"{hint}')
    if command == "sandbox":
        _require_sandbox()
    parsed = vars(_parser(command).parse_args(_double_dashes(words)))
    given: dict[str, Any] = {"command": command, "what": parsed.get("what", "")}
    given["sandbox"] = parsed.get("sandbox", False)
    if given["sandbox"]:
        _require_sandbox()
    for name, flag in _FLAGS.items():
        value = _value(name, flag, parsed.get(name), environment)
        if value is not None:
            given[name] = value[0]
    if command not in ASKING:
        return Options(**given)
    # whether this is a pod is the client's to say, and matters to commands that talk to a server
    from handloop.controller.cli.surroundings import options_here  # noqa: PLC0415

    try:
        return options_here(given, environment, service_account)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _value(name: str, flag: str, word: str | None, environment: Mapping[str, str]) -> tuple[Any] | None:
    """The parsed value in a 1-tuple, as a value may be None; None when neither flag nor variable is set."""
    meta = _metadata(name)
    source = flag
    # $KUBECONFIG is a list of files and is read where kubeconfigs are loaded
    if word is None and meta["env"] and name != "kubeconfig":
        word, source = environment.get(meta["env"]) or None, f"${meta['env']}"
    if word is None:
        return None
    if flag == "--verbosity":
        word = word.removeprefix("=")
    try:
        return (meta["parse"](word),)
    except ValueError as error:
        reason = str(error)
        if reason.startswith(("invalid literal for int", "could not convert")):
            reason = f'"{word}" is not a number'
        raise UsageError(f"{source}: {reason}") from None
