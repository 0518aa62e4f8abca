"""`plan`: reconciles each object once without writing, and prints what a run of this program would write."""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import replace
from typing import Final, TextIO

from handloop.client.config import load_config
from handloop.client.errors import ConfigError
from handloop.client.resource_client import Client
from handloop.client.transport import HTTPTransport
from handloop.controller.cli.connection_problems import config_problem
from handloop.controller.cli.logs import tell
from handloop.controller.cli.options import Options
from handloop.controller.cli.plan_report import exit_code, json_report, text_report
from handloop.controller.cli.preflight import Preflight
from handloop.controller.cli.problems import EXIT_FORBIDDEN, EXIT_OK
from handloop.controller.cli.program import informer_options
from handloop.controller.runtime.planning.planner import Plan, PlanningManager
from handloop.controller.runtime.reconciling.controller import ControllerOptions
from handloop.informers.keys import ObjectName
from handloop.seams.seams import REAL_SEAMS, Seams

WORKERS: Final = 8
"""The number of parallel reconciles. It is high because reconciles mostly wait for the server."""


def run_plan(
    options: Options, stop: threading.Event, out: TextIO, err: TextIO, *, seams: Seams = REAL_SEAMS
) -> int:
    """
    Print the plan on out, and the problems found by the checks on err.

    If a permission is missing, a plan is made, but reconciles that need the permission fail. If any other
    check fails, no plan is made.

    Returns: the exit code of the plan (see exit_code), or of the checks if no plan is made.
    """
    try:
        config = load_config(
            kubeconfig=options.kubeconfig, master=options.master, context=options.context, stop=stop
        )
        with closing(HTTPTransport(config, seams=seams)) as transport:
            client = Client(
                transport, user_agent=f"{options.operator.user_agent} plan", stop=stop, seams=seams
            )
            report = Preflight(client, config, options, seams).check(stop, tries=1)
            for problem in report.problems:
                tell(problem, options, err)
            if report.exit_code not in (EXIT_OK, EXIT_FORBIDDEN):
                return report.exit_code
            plan = _make(client, options, stop, seams)
    except ConfigError as error:
        return tell(config_problem(error, options.operator.command), options, err)
    write = json_report if options.output == "json" else text_report
    write(plan, out, only_restarts=options.only_restarts)
    return exit_code(plan, only_restarts=options.only_restarts)


def _make(client: Client, options: Options, stop: threading.Event, seams: Seams) -> Plan:
    manager = PlanningManager(
        client,
        only=_name(options),
        with_outside=options.with_outside,
        namespaces=options.namespace_labels or options.namespaces,
        informer_options=informer_options(replace(options, resync=0.0)),
        controller_options=ControllerOptions(max_concurrent_reconciles=max(options.workers, WORKERS)),
        seams=seams,
    )
    options.operator.set_up(manager, options.controllers)
    return manager.make(stop)


def _name(options: Options) -> ObjectName | None:
    """Return the requested object's name. If it has no namespace, use the one from -n."""
    if not options.what:
        return None
    namespace, _, name = options.what.rpartition("/")
    return ObjectName(namespace or (options.namespaces[0] if len(options.namespaces) == 1 else ""), name)
