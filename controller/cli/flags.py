"""
Reads the command line and the environment into Options, with defaults for a pod, a laptop or the sandbox.

Precedence: flag, then environment variable, then default. Go's single dash (`-kubeconfig=x`) is accepted.

In a cluster, the lease is in the namespace in which the program runs. Outside, a flag names its namespace.

Follows: controller-runtime pkg/leaderelection for the lease's namespace, and client-go for the durations.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn

from handloop.controller.cli.extensions import NotInstalledError, extension, is_installed
from handloop.controller.cli.operator import Operator
from handloop.controller.cli.options import ASKING, FLAGS, Flag, Options, spelling
from handloop.controller.cli.replicas import replicas_of
from handloop.controller.cli.values import (
    HEALTH_ADDRESS,
    LOOPBACK,
    METRICS_ADDRESS,
    boolean,
    controller_names,
    format_duration,
    namespace_name,
    nearest,
)
from handloop.controller.runtime.election.durations import validate_durations
from handloop.controller.runtime.serving.bind_address import BindAddress


class UsageError(Exception):
    """The command line is not valid. The message says why; fix is what to type, or "" to suggest --help."""

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.fix = fix


COMMANDS: Final = {
    "run": "run the controllers (the default)",
    "sandbox": "run the built-in API server alone",
    "doctor": "check the configuration, server, CRDs and permissions, and report what is missing",
    "plan": "show, without writing, what a run would write: plan [NAMESPACE/NAME]; exit code 1 means changes",
    "crd": "print the CustomResourceDefinitions of the controllers' kinds; crd diff OLD compares them",
    "rbac": "print the roles that the controllers need",
    "user-roles": "print roles that let people read and edit objects of the controllers' kinds",
    "monitoring": "print what Prometheus and Grafana need: Service, ServiceMonitor, alerts, dashboard",
    "manifests": "print one of the four above, as in `manifests crd`",
    "bundle": "write a bundle for the Operator Lifecycle Manager (OLM), from which an image is built",
    "chart": "write Helm charts for the operator and for its CRDs",
    "migrate-storage": "store all objects of the controllers' kinds in their newest versions",
    "why": "explain why an object is stuck: why [CONTROLLER] NAMESPACE/NAME",
    "version": "print the version",
}

_MANIFESTS: Final = ("crd", "rbac", "user-roles", "monitoring")

_SWITCHES: Final = ("sandbox", "all-namespaces", "help")


class _Parser(argparse.ArgumentParser):
    """An argparse parser that raises an error instead of exiting, and suggests the nearest flag."""

    def error(self, message: str) -> NoReturn:
        unknown = re.search(r"unrecognized arguments: (\S+)", message)
        if unknown and unknown[1].startswith("-"):
            name = unknown[1].split("=", 1)[0]
            hint = nearest("--" + name.lstrip("-"), self._option_string_actions)
            raise UsageError(f"unknown flag {name}{hint}")
        if unknown and unknown[1] in COMMANDS:
            raise UsageError(f"put the command before its flags: {unknown[1]}")
        raise UsageError(message)


def _parser(command: str, operator: Operator) -> _Parser:
    flags, is_run, examples = _flags(command, operator), command == "run", _examples(operator)
    limits = _limits() if command == "sandbox" else ""
    parser = _Parser(
        prog=operator.command if is_run else f"{operator.command} {command}",
        usage="%(prog)s [COMMAND] [FLAGS]" if is_run else None,
        # List the commands first, because they would be hard to find below forty flags.
        description=COMMANDS[command] + (f"\n{_commands_text(operator)}{examples}" if is_run else ""),
        epilog=limits + _environment(flags, operator) + ("" if is_run else examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    if command == "manifests":
        parser.add_argument("what", choices=_MANIFESTS)
    if command == "plan":
        parser.add_argument("what", metavar="NAMESPACE/NAME", nargs="?", default="", help="only this object")
    if command == "run":
        parser.add_argument(
            "--sandbox", action="store_true", help="run on a built-in sandbox in this process"
        )
    for name, flag in flags.items():
        spellings = [f"-{flag.short}"] if flag.short else []
        # `--leader-elect` without a value means true, as with Go's flags.
        bare: dict[str, Any] = {"nargs": "?", "const": "true"} if flag.parse is boolean else {}
        text = flag.help.format(", ".join(operator.names))
        parser.add_argument(*spellings, spelling(name), dest=name, metavar=flag.metavar, help=text, **bare)
    if "namespace" in flags:
        parser.add_argument(
            "-A", "--all-namespaces", dest="namespace", action="store_const", const="", help="all namespaces"
        )
    return parser


def _flags(command: str, operator: Operator) -> dict[str, Flag]:
    """Return a command's flags. `--controllers` is left out if the operator has no controller names."""
    found = {name: flag for name, flag in FLAGS.items() if command in flag.commands}
    if not operator.names:
        found.pop("controllers", None)
    return found


def _examples(operator: Operator) -> str:
    command = operator.command
    return f"""
examples:
  {command} --sandbox                       no cluster needed
  {command} --kubeconfig ~/.kube/config     the current context's cluster
  {operator.crd_command} | kubectl apply -f -
"""


def _environment(flags: Mapping[str, Flag], operator: Operator) -> str:
    named = {flag.variable(name, operator): name for name, flag in flags.items() if flag.env}
    rows = [f"  {variable:42} {spelling(name)}" for variable, name in named.items()]
    return "\nenvironment (a flag wins):\n" + "\n".join(rows) + "\n" if rows else ""


def _commands_text(operator: Operator) -> str:
    rows = [f"  {name:16} {text}" for name, text in {**COMMANDS, **operator.own_commands}.items()]
    return "\ncommands:\n" + "\n".join(rows) + "\n"


def _limits() -> str:
    sandbox = extension("sandbox")
    differences = sandbox.bullets("  ", 100)
    limits = f"\nlimits:\n  {sandbox.LIMITS}\n"
    return f"{limits}where it differs from a kube-apiserver with its controllers:\n{differences}"


def _require_sandbox() -> None:
    """Raise UsageError if the sandbox, or a library that it needs, is not installed."""
    if not is_installed("sandbox"):
        error = NotInstalledError("sandbox")
        raise UsageError(f"{error.title} is not installed", fix=error.fix)


def _double_dashes(argv: Sequence[str]) -> list[str]:
    """Turn Go's `-kubeconfig=x` into `--kubeconfig=x`; `-v4`, `-n x` and `-A` stay unchanged."""
    names = {spelling(name)[2:] for name in FLAGS} | set(_SWITCHES)
    out = []
    for word in argv:
        name = word[1:].split("=", 1)[0]
        out.append("-" + word if word.startswith("-") and name in names and len(name) > 1 else word)
    return ["-v=" + word[4:] if word.startswith("--v=") else "-v" if word == "--v" else word for word in out]


def parse_options(
    argv: Sequence[str],
    environment: Mapping[str, str] = os.environ,
    *,
    operator: Operator,
    service_account: str = "",
) -> Options:
    """
    Read an operator's command line.

    Args: service_account is the folder with a pod's service account files; "" means the standard folder.
    Raises: UsageError with a message for the user; SystemExit(0) after printing help.
    """
    words = ["manifests", *argv] if argv and argv[0] in _MANIFESTS else list(argv)
    command = words.pop(0) if words and words[0] in COMMANDS else "run"
    if words and not words[0].startswith("-") and command == "run":
        known = {**COMMANDS, **operator.own_commands}
        hint = nearest(words[0], known, otherwise=f"; have: {', '.join(known)}")
        raise UsageError(f'unknown command "{words[0]}"{hint}')
    if command == "sandbox":
        _require_sandbox()
    parsed = vars(_parser(command, operator).parse_args(_double_dashes(words)))
    given: dict[str, Any] = {"operator": operator, "command": command, "what": parsed.get("what", "")}
    given["sandbox"] = parsed.get("sandbox", False)
    if given["sandbox"]:
        _require_sandbox()
    for name in FLAGS:
        if name != "controllers":
            given |= _given(name, FLAGS[name].parse, parsed.get(name), environment, operator)
        elif operator.names:
            choose = partial(controller_names, names=operator.names)
            given |= _given(name, choose, parsed.get(name), environment, operator)
    if command not in ASKING:
        return Options(**given)
    try:
        return _options_here(given, environment, service_account)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _given(
    name: str,
    parse: Callable[[str], Any],
    word: str | None,
    environment: Mapping[str, str],
    operator: Operator,
) -> dict[str, Any]:
    """Return {name: value} for an option, or {} if neither its flag nor its variable is set."""
    flag = FLAGS[name]
    source = spelling(name)
    # $KUBECONFIG can be a list of files, so the code that loads kubeconfigs reads it.
    if word is None and flag.env and name != "kubeconfig":
        variable = flag.variable(name, operator)
        word, source = environment.get(variable) or None, f"${variable}"
    if word is None:
        return {}
    if name == "verbosity":
        word = word.removeprefix("=")
    try:
        return {name: parse(word)}
    except ValueError as error:
        reason = str(error)
        if reason.startswith(("invalid literal for int", "could not convert")):
            reason = f'"{word}" is not a number'
        raise UsageError(f"{source}: {reason}") from None


def _options_here(given: Mapping[str, Any], environment: Mapping[str, str], service_account: str) -> Options:
    """
    Return the given options, completed with defaults for the environment.

    Raises: ValueError if options exclude each other, or if the lease's namespace is unknown.
    """
    # The client detects whether this is a pod. It is imported here so that other commands need not load it.
    from handloop.client.auth.in_cluster import (  # noqa: PLC0415
        SERVICE_ACCOUNT,
        in_cluster_namespace,
        in_cluster_possible,
    )

    account = service_account or SERVICE_ACCOUNT
    in_cluster = in_cluster_possible(environment, account)
    defaults: dict[str, Any] = {"in_cluster": in_cluster}
    if given["sandbox"]:
        # On a laptop, use only loopback, and free ports, because another server could already use 8080.
        defaults |= {"metrics_bind_address": LOOPBACK, "health_probe_bind_address": LOOPBACK}
        defaults |= _live_page_defaults(given)
    elif in_cluster:
        # Listen on all interfaces, because probes and scrapes come from other hosts.
        defaults["own_namespace"] = in_cluster_namespace(environment, account)
        defaults["metrics_bind_address"] = replace(METRICS_ADDRESS, host="")
        defaults["health_probe_bind_address"] = replace(HEALTH_ADDRESS, host="")
    options = Options(**defaults | dict(given))
    _check_durations(options)
    _check_live_page(options)
    replicas = replicas_of(options)
    replicas.check()
    if not replicas.flag or options.leader_elect_resource_namespace:
        return options
    namespace = _own_namespace(options, replicas.flag, environment, account)
    return replace(options, leader_elect_resource_namespace=namespace)


def _check_durations(options: Options) -> None:
    names = ("leader_elect_lease_duration", "leader_elect_renew_deadline", "leader_elect_retry_period")
    durations = [getattr(options, name) for name in names]
    try:
        validate_durations(*durations)
    except ValueError as error:
        said = zip(names, durations, strict=True)
        words = " ".join(f"{spelling(name)}={format_duration(seconds)}" for name, seconds in said)
        raise ValueError(f"{error} ({words})") from None


def _own_namespace(options: Options, flag: str, environment: Mapping[str, str], service_account: str) -> str:
    from handloop.client.auth.in_cluster import in_cluster_namespace  # noqa: PLC0415

    if environment.get("POD_NAMESPACE") or Path(service_account, "namespace").exists():
        return namespace_name(in_cluster_namespace(environment, service_account))
    if options.sandbox:
        return "default"
    raise ValueError(f"outside a cluster {flag} needs --leader-elect-resource-namespace=NAME for its lease")


def _live_page_defaults(given: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return the live page's defaults for --sandbox, or {} if the page is not installed.

    By default, the page listens on loopback. Its controls are enabled, unless --debug-listen turns the page
    off or opens it to other machines.
    """
    if not is_installed("live-page"):
        return {}
    address: BindAddress | None = given.get("debug_listen", LOOPBACK)
    on_loopback = address is not None and address.served_names() is not None
    return {"debug_listen": LOOPBACK, "debug_controls": on_loopback}


def _check_live_page(options: Options) -> None:
    """Raise ValueError if the live page cannot be served, or if other machines could use its controls."""
    if options.debug_listen is None:
        if options.debug_controls:
            raise ValueError("--debug-controls needs the live page: set --debug-listen")
        return
    if not is_installed("live-page"):
        raise ValueError(str(NotInstalledError("live-page")))
    if options.debug_controls and options.debug_listen.served_names() is None:
        raise ValueError(
            "with --debug-controls, anyone who can open the live page could use its controls: "
            "set --debug-listen to loopback"
        )
