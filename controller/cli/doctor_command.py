"""`doctor`: the checks of a start without the start, each with its answer."""

from __future__ import annotations

import json
import threading
from contextlib import closing
from typing import Any, Final, TextIO

from handloop.client.config import ClientConfig, load_config
from handloop.client.errors import ConfigError
from handloop.client.resource_client import Client
from handloop.client.transport import HTTPTransport
from handloop.controller.cli.connection_problems import config_problem
from handloop.controller.cli.options import Options
from handloop.controller.cli.preflight import REQUEST_SECONDS, Finding, Preflight, Report
from handloop.controller.cli.problems import Problem
from handloop.controller.cli.terminal import printable
from handloop.controller.cli.version import version
from handloop.workqueue.seams import REAL_CLOCK, Clock, Seams

_CONFIGURATION: Final = "configuration"


def doctor(options: Options, stop: threading.Event, out: TextIO, *, clock: Clock = REAL_CLOCK) -> int:
    """
    Ask the server everything that a start asks, and write the answers.

    Returns: the exit code with which `--preflight=exit` would end: that of the first class that fails.
    """
    report = _examine(options, stop, clock)
    out.write(_json(report) if options.output == "json" else _table(report))
    return report.exit_code


def _examine(options: Options, stop: threading.Event, clock: Clock) -> Report:
    try:
        config = load_config(
            kubeconfig=options.kubeconfig, master=options.master, context=options.context, stop=stop
        )
        with closing(
            HTTPTransport(config, request_seconds=REQUEST_SECONDS, seams=Seams(clock=clock))
        ) as transport:
            client = Client(
                transport, user_agent=f"handloop/{version()}", seams=Seams(clock=clock), stop=stop
            )
            report = Preflight(client, config, options, clock).check(stop)
    except ConfigError as error:
        problem = config_problem(error)
        finding = Finding(check=_CONFIGURATION, subject=problem.what, ok=False, code=problem.code)
        return Report(problems=(problem,), findings=(finding,))
    return report.after(Finding(check=_CONFIGURATION, subject=_described(config), ok=True))


def _described(config: ClientConfig) -> str:
    """The file that counts, and its context."""
    return f"{config.source}, context {config.context_name}" if config.context_name else config.source


def _table(report: Report) -> str:
    """A line for each check, then each problem in full."""
    rows = [printable(_row(finding)) for finding in report.findings]
    failed = sum(not finding.ok for finding in report.findings)
    counted = f"{failed} of {len(rows)} checks failed" if failed else f"all {len(rows)} checks passed"
    return "\n".join([*rows, "", counted, *(f"\n{problem}" for problem in report.problems)]) + "\n"


def _row(finding: Finding) -> str:
    mark = "✓" if finding.ok else "✗"
    return f"{mark} {finding.check:14} {finding.subject}{f'  {finding.code}' if finding.code else ''}"


def _json(report: Report) -> str:
    document = {
        "ok": report.exit_code == 0,
        "exitCode": report.exit_code,
        "serverVersion": report.server_version,
        "user": report.user,
        "checks": [_check(finding) for finding in report.findings],
        "problems": [_problem(problem) for problem in report.problems],
    }
    text = json.dumps(document, indent=2, ensure_ascii=False)
    return "\n".join(map(printable, text.split("\n"))) + "\n"


def _check(finding: Finding) -> dict[str, Any]:
    fields = {"check": finding.check, "subject": finding.subject, "ok": finding.ok, "code": finding.code}
    return {key: value for key, value in fields.items() if value != ""}


def _problem(problem: Problem) -> dict[str, Any]:
    return {
        "code": problem.code,
        "severity": problem.severity,
        "what": problem.what,
        "causes": problem.causes,
        "fixes": problem.fixes,
        "more": problem.more,
        "exitCode": problem.exit_code,
    }
