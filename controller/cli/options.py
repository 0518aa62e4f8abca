"""
What can be said on the command line and in the environment, and what it means when nothing is said.

Precedence: flag, then environment variable, then default. Go's single dash (`-kubeconfig=x`) is accepted.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, NoReturn

from controller.cli.durations import parse_duration

LOG_FORMATS: Final = ("klog", "text", "json")
PREFLIGHT_MODES: Final = ("warn", "exit", "off")
MAX_VERBOSITY: Final = 9
MAX_PORT: Final = 65535


class UsageError(Exception):
    """The command line cannot be understood; the message says why."""


def _duration(text: str) -> float:
    seconds = parse_duration(text)
    if seconds < 0:
        raise ValueError(f'duration "{text}" must not be negative')
    return seconds


def _workers(text: str) -> int:
    workers = int(text)
    if workers < 1:
        raise ValueError("at least 1 worker is needed")
    return workers


def _verbosity(text: str) -> int:
    level = int(text)
    if not 0 <= level <= MAX_VERBOSITY:
        raise ValueError("levels are 0 to 9")
    return level


def _one_of(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f'"{text}" is none of {", ".join(choices)}')
        return text

    return parse


def _not_negative(text: str) -> float:
    number = float(text)
    if not 0 <= number < float("inf"):
        raise ValueError("must be 0 or more")
    return number


def _whole(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError("must be 0 or more")
    return number


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= MAX_PORT:
        raise ValueError("ports are 0 to 65535")
    return port


@dataclass(frozen=True, slots=True)
class BindAddress:
    """`host:port` to listen on; an empty host is every interface; port 0 picks a free one."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


METRICS_ADDRESS: Final = BindAddress("", 8080)
HEALTH_ADDRESS: Final = BindAddress("", 8081)
LOOPBACK: Final = BindAddress("127.0.0.1", 0)


def parse_bind_address(text: str) -> BindAddress | None:
    """
    `:8080`, `127.0.0.1:8080`, `[::1]:8080`; `0` turns the server off and gives None.

    Raises: ValueError.
    """
    if text == "0":
        return None
    host, separator, port = text.rpartition(":")
    if not separator or not port.isdigit() or int(port) > MAX_PORT:
        raise ValueError(f'"{text}" is not an address such as :8080 or 127.0.0.1:8080 (0 turns it off)')
    return BindAddress(host.removeprefix("[").removesuffix("]"), int(port))


def _option(
    default: Any,
    parse: Callable[[str], Any],
    text: str,
    *,
    env: str = "",
    short: str = "",
    metavar: str = "",
    commands: Sequence[str] = ("run",),
) -> Any:
    """A dataclass field that carries how to read it."""
    return field(
        default=default,
        metadata={
            "parse": parse,
            "help": text,
            "env": env,
            "short": short,
            "metavar": metavar,
            "commands": commands,
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Everything that was asked for, checked. One field is one flag: `kube_api_qps` is `--kube-api-qps`."""

    command: str = "run"
    what: str = ""
    sandbox: bool = False
    kubeconfig: str = _option("", str, "path of a kubeconfig file", env="KUBECONFIG", metavar="PATH")
    master: str = _option("", str, "address of the API server; overrides the kubeconfig's", metavar="URL")
    context: str = _option("", str, "context of the kubeconfig", env="CONTROLLER_CONTEXT", metavar="NAME")
    namespace: str = _option(
        "",
        str,
        "namespace to watch; all when empty (also -A)",
        env="CONTROLLER_NAMESPACE",
        short="n",
        metavar="NAME",
        commands=("run", "manifests"),
    )
    workers: int = _option(2, _workers, "worker threads", env="CONTROLLER_WORKERS", metavar="N")
    resync: float = _option(
        30.0,
        _duration,
        "period of the informers' resync; 0 turns it off",
        env="CONTROLLER_RESYNC",
        metavar="D",
    )
    verbosity: int = _option(
        0,
        _verbosity,
        "log level: 0 always, 2 steady state, 4 decisions, 6 requests, 8 bodies",
        env="CONTROLLER_V",
        short="v",
        metavar="0..9",
        commands=("run", "sandbox"),
    )
    log_format: str = _option(
        "",
        _one_of(*LOG_FORMATS),
        "klog, text or json; text on a terminal, json in a cluster, else klog",
        env="CONTROLLER_LOG_FORMAT",
        metavar="FORMAT",
        commands=("run", "sandbox"),
    )
    metrics_bind_address: BindAddress | None = _option(  # noqa: RUF009 - a field, as the others
        METRICS_ADDRESS,
        parse_bind_address,
        "where /metrics is served; 0 turns it off",
        env="CONTROLLER_METRICS_BIND_ADDRESS",
        metavar="ADDR",
    )
    health_probe_bind_address: BindAddress | None = _option(  # noqa: RUF009 - a field, as the others
        HEALTH_ADDRESS,
        parse_bind_address,
        "where /healthz and /readyz are served; 0 turns them off",
        env="CONTROLLER_HEALTH_PROBE_BIND_ADDRESS",
        metavar="ADDR",
    )
    preflight: str = _option(
        "warn",
        _one_of(*PREFLIGHT_MODES),
        "check server, CRD and permissions first: warn and go on, exit, or off",
        env="CONTROLLER_PREFLIGHT",
        metavar="MODE",
    )
    shutdown_timeout: float = _option(
        30.0,
        _duration,
        "how long a stop waits for work in flight",
        env="CONTROLLER_SHUTDOWN_TIMEOUT",
        metavar="D",
    )
    kube_api_qps: float = _option(
        0.0,
        _not_negative,
        "requests per second to the API server; 0 is no limit",
        env="CONTROLLER_KUBE_API_QPS",
        metavar="N",
    )
    kube_api_burst: int = _option(
        0,
        _whole,
        "requests above the rate at once; 0 is twice the rate",
        env="CONTROLLER_KUBE_API_BURST",
        metavar="N",
    )
    sandbox_kubeconfig: str = _option(
        ".sandbox/kubeconfig",
        str,
        "kubeconfig that the sandbox writes",
        env="CONTROLLER_SANDBOX_KUBECONFIG",
        metavar="PATH",
        commands=("run", "sandbox"),
    )
    sandbox_port: int = _option(
        0,
        _port,
        "port of the sandbox; 0 picks a free one",
        env="CONTROLLER_SANDBOX_PORT",
        metavar="N",
        commands=("run", "sandbox"),
    )
    sandbox_speed: float = _option(
        1.0,
        _not_negative,
        "how fast simulated pods live; 10 is ten times as fast",
        env="CONTROLLER_SANDBOX_SPEED",
        metavar="X",
        commands=("run", "sandbox"),
    )
    output: str = _option("", _one_of("", "json"), "json", short="o", metavar="FORMAT", commands=("version",))


COMMANDS: Final[Mapping[str, str]] = {
    "run": "run the controller (the default)",
    "sandbox": "run the built-in API server alone",
    "manifests": "print generated manifests: crd or rbac",
    "version": "print the version",
}

EXAMPLES: Final = """\
examples:
  python -m controller --sandbox                       no cluster needed
  python -m controller --kubeconfig ~/.kube/config     the current context's cluster
  python -m controller manifests crd | kubectl apply -f -
"""

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
    """argparse that raises instead of exiting, and knows the nearest flag."""

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
        prog="python -m controller" + ("" if command == "run" else f" {command}"),
        description=COMMANDS[command],
        epilog=EXAMPLES + _environment(command) + _commands_text(command),
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
        parser.add_argument(*spellings, flag, dest=name, metavar=meta["metavar"], help=meta["help"])
    if command in _metadata("namespace")["commands"]:
        parser.add_argument(
            "-A", "--all-namespaces", dest="namespace", action="store_const", const="", help="all namespaces"
        )
    return parser


def _environment(command: str) -> str:
    rows = [
        f"  {meta['env']:38} {_FLAGS[name]}"
        for name, meta in ((name, _metadata(name)) for name in _FLAGS)
        if meta["env"] and command in meta["commands"]
    ]
    return "\nenvironment (a flag wins):\n" + "\n".join(rows) + "\n" if rows else ""


def _commands_text(command: str) -> str:
    if command == "sandbox":
        return f"\nlimits:\n  {SANDBOX_LIMITS}"
    if command != "run":
        return ""
    rows = [f"  {name:12} {text}" for name, text in COMMANDS.items()]
    return "\ncommands:\n" + "\n".join(rows) + "\n"


def _double_dashes(argv: Sequence[str]) -> list[str]:
    """Go's `-kubeconfig=x` as `--kubeconfig=x`; `-v4`, `-n x` and `-A` stay."""
    names = {flag[2:] for flag in _FLAGS.values()} | set(_SWITCHES)
    out = []
    for word in argv:
        name = word[1:].split("=", 1)[0]
        out.append("-" + word if word.startswith("-") and name in names and len(name) > 1 else word)
    return ["-v=" + word[4:] if word.startswith("--v=") else "-v" if word == "--v" else word for word in out]


def parse_options(argv: Sequence[str], environment: Mapping[str, str] = os.environ) -> Options:
    """
    Read a command line.

    Raises: UsageError with a message for people; SystemExit(0) after printing help.
    """
    words = list(argv)
    command = words.pop(0) if words and words[0] in COMMANDS else "run"
    if words and not words[0].startswith("-") and command == "run":
        near = difflib.get_close_matches(words[0], list(COMMANDS), n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; have: {', '.join(COMMANDS)}"
        raise UsageError(f'unknown command "{words[0]}"{hint}')
    parsed = vars(_parser(command).parse_args(_double_dashes(words)))
    given: dict[str, Any] = {"command": command, "what": parsed.get("what", "")}
    given["sandbox"] = parsed.get("sandbox", False)
    for name, flag in _FLAGS.items():
        value = _value(name, flag, parsed.get(name), environment)
        if value is not None:
            given[name] = value[0]
    if given["sandbox"]:
        # a laptop: nothing but loopback, and no clash with what already listens on 8080
        given.setdefault("metrics_bind_address", LOOPBACK)
        given.setdefault("health_probe_bind_address", LOOPBACK)
    return Options(**given)


def _value(name: str, flag: str, word: str | None, environment: Mapping[str, str]) -> tuple[Any] | None:
    """The parsed value in a 1-tuple (a value may itself be None), or None when nothing was said."""
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
