"""`run`, the default: from options to a working controller, and to the exit code of its end."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import Final, TextIO

import structlog

from handloop.client.config import ClientConfig, load_config, shown_server
from handloop.client.errors import ConfigError
from handloop.client.reachability import Reachability
from handloop.client.resource_client import Client
from handloop.client.transport import HTTPTransport, Transport
from handloop.controller.cli.banner import Facts, show_banner
from handloop.controller.cli.checks import preflight_for
from handloop.controller.cli.config_problems import config_problem
from handloop.controller.cli.election import Election
from handloop.controller.cli.options import Options
from handloop.controller.cli.preflight import REQUEST_SECONDS, Report
from handloop.controller.cli.problems import (
    EXIT_CONFIG,
    EXIT_FATAL,
    EXIT_OK,
    Problem,
    port_in_use,
    stop_took_too_long,
)
from handloop.controller.cli.program import Program
from handloop.controller.cli.sandbox_command import running_sandbox, sandbox_hint
from handloop.controller.cli.servers import Servers
from handloop.controller.cli.tell import tell
from handloop.controller.cli.version import version
from handloop.controller.cli.version_skew import version_skew
from handloop.controller.runtime.collector import relax_collector
from handloop.controller.runtime.election.leader_election import LeadershipLost
from handloop.controller.runtime.metrics.metrics_page import new_registry
from handloop.controller.runtime.metrics.rest_client_metrics import ClientMetrics
from handloop.controller.runtime.runnable import StopTimeoutError
from handloop.controller.runtime.serving.listening import ListenError
from handloop.informers.progress import INTERVAL_SECONDS, TTY_INTERVAL_SECONDS
from handloop.workqueue.clock import REAL_CLOCK, Clock

log = structlog.get_logger("controller")

PREFLIGHT_TRIES_WHEN_EXITING: Final = 3


def run(options: Options, stop: threading.Event, stream: TextIO, *, clock: Clock = REAL_CLOCK) -> int:
    """
    Run the controller until stop is set.

    Args: stream is where people read: problems and the banner.
    Returns: the exit code.
    """
    with ExitStack() as stack:
        try:
            config = _configuration(options, stop, stack, stream)
            return _run_with(config, options, stop, stream, clock)
        except ConfigError as error:
            if stop.is_set():
                return _stopped()
            return tell(config_problem(error), options, stream)
        except ListenError as error:
            return tell(port_in_use(error), options, stream)


def _configuration(options: Options, stop: threading.Event, stack: ExitStack, stream: TextIO) -> ClientConfig:
    if options.sandbox:
        kubeconfig = stack.enter_context(running_sandbox(options))
        config = load_config(kubeconfig=str(kubeconfig))
        sandbox_hint(kubeconfig.resolve(), stream)
        return config
    return load_config(
        kubeconfig=options.kubeconfig, master=options.master, context=options.context, stop=stop
    )


def _run_with(
    config: ClientConfig, options: Options, stop: threading.Event, stream: TextIO, clock: Clock
) -> int:
    relax_collector()
    registry = new_registry()
    metrics = ClientMetrics(registry)
    interval = TTY_INTERVAL_SECONDS if stream.isatty() else INTERVAL_SECONDS

    def say(problem: Problem) -> None:
        tell(problem, options, stream)

    with ExitStack() as stack:
        transport = stack.enter_context(closing(HTTPTransport(config, metrics=metrics, clock=clock)))
        client = _client(transport, options, stop, metrics, clock)
        # bound before anything else happens: a taken port is known at once, and a slow start can be probed
        servers = Servers(options, registry, client.rest, clock)
        with servers.serving():
            report = _preflight(
                config, options, stop, clock, metrics=metrics, reachability=client.reachability
            )
            if stop.is_set():
                return _stopped()
            skew = version_skew(report.server_version)
            for problem in (*report.problems, *([skew] if skew else [])):
                say(problem)
            if report.exit_code and (options.preflight == "exit" or report.exit_code == EXIT_CONFIG):
                return report.exit_code
            show_banner(_facts(config, options, report, servers), options, stream)
            election = stack.enter_context(Election(config, options, say=say, metrics=metrics, clock=clock))
            program = Program(
                client,
                options,
                stop,
                registry=registry,
                elect=election.elect if options.leader_elect else None,
                progress_seconds=interval,
                clock=clock,
            )
            servers.show(program)
            return _work(program, options, say)


def _work(program: Program, options: Options, say: Callable[[Problem], object]) -> int:
    """Returns: the exit code. Raises: what is no end that people were told of."""
    clean = True
    try:
        program.run()
    except* LeadershipLost:
        # E12 was said when it happened
        clean = False
    except* StopTimeoutError as several:
        clean = False
        for error in several.exceptions:
            say(stop_took_too_long(error, options.shutdown_timeout))
    return _stopped() if clean else EXIT_FATAL


def _stopped() -> int:
    log.info("Stopped")
    return EXIT_OK


def _client(
    transport: Transport,
    options: Options,
    stop: threading.Event,
    metrics: ClientMetrics,
    clock: Clock,
    *,
    reachability: Reachability | None = None,
) -> Client:
    return Client(
        transport,
        qps=options.kube_api_qps,
        burst=options.kube_api_burst or math.ceil(2 * options.kube_api_qps),
        metrics=metrics,
        user_agent=f"handloop/{version()}",
        clock=clock,
        stop=stop,
        reachability=reachability,
    )


def _preflight(
    config: ClientConfig,
    options: Options,
    stop: threading.Event,
    clock: Clock,
    *,
    metrics: ClientMetrics,
    reachability: Reachability,
) -> Report:
    if options.preflight == "off":
        return Report(summary="off")
    tries = PREFLIGHT_TRIES_WHEN_EXITING if options.preflight == "exit" else 1
    quick = HTTPTransport(config, request_seconds=REQUEST_SECONDS, metrics=metrics, clock=clock)
    with closing(quick):
        client = _client(quick, options, stop, metrics, clock, reachability=reachability)
        return preflight_for(client, config, options, clock).check(stop, tries=tries)


def _election_words(options: Options) -> str:
    lease = f"{options.leader_elect_resource_namespace}/{options.leader_elect_resource_name}"
    return f"  ✓ leader election by lease {lease}" if options.leader_elect else ""


def _facts(config: ClientConfig, options: Options, report: Report, servers: Servers) -> Facts:
    return Facts(
        host=shown_server(config.host),
        context=config.context_name,
        source=config.source,
        server_version=report.server_version,
        user=report.user or config.user_name,
        metrics=servers.metrics,
        health=servers.health,
        checks=report.summary + _election_words(options),
    )
