"""`run`, the default: from options to a working controller, and to the exit code of its end."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from typing import Final, TextIO

import structlog
from prometheus_client import CollectorRegistry

from client.config import ClientConfig, load_config
from client.errors import ConfigError
from client.resource_client import Client
from client.transport import HTTPTransport, Transport
from controller.cli.banner import Facts, show_banner
from controller.cli.bind_address import BindAddress
from controller.cli.checks import preflight_for, shown_server
from controller.cli.election import Election
from controller.cli.options import Options
from controller.cli.preflight import Report
from controller.cli.problems import (
    EXIT_CONFIG,
    EXIT_FATAL,
    EXIT_OK,
    Problem,
    config_problem,
    port_in_use,
)
from controller.cli.program import Program
from controller.cli.sandbox_command import running_sandbox, sandbox_hint
from controller.cli.tell import tell
from controller.cli.version import version
from controller.cli.version_skew import version_skew
from controller.runtime.collector import relax_collector
from controller.runtime.health import ListenError, Page, PageServer, health_page
from controller.runtime.leader_election import LeadershipLost
from controller.runtime.metrics import ClientMetrics, metrics_page, new_registry
from controller.runtime.write_fence import WriteFence
from informers.progress import INTERVAL_SECONDS, TTY_INTERVAL_SECONDS
from workqueue.clock import REAL_CLOCK, Clock
from workqueue.locks import new_lock

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
            config = _configuration(options, stack, stream)
            return _run_with(config, options, stop, stream, clock)
        except ConfigError as error:
            return tell(config_problem(error), options, stream)
        except ListenError as error:
            return tell(port_in_use(error), options, stream)
        except LeadershipLost:
            # E12 was said when it happened
            return EXIT_FATAL


def _configuration(options: Options, stack: ExitStack, stream: TextIO) -> ClientConfig:
    if options.sandbox:
        kubeconfig = stack.enter_context(running_sandbox(options))
        config = load_config(kubeconfig=str(kubeconfig))
        sandbox_hint(kubeconfig.resolve(), stream)
        return config
    return load_config(kubeconfig=options.kubeconfig, master=options.master, context=options.context)


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
        fence = WriteFence(transport)
        client = _client(fence, options, stop, metrics, clock)
        # bound before anything else happens: a taken port is known at once, and a slow start can be probed
        servers = _Servers(options, registry)
        with servers.serving():
            report = _preflight(client, config, options, stop, clock)
            skew = version_skew(report.server_version)
            for problem in (*report.problems, *([skew] if skew else [])):
                say(problem)
            if report.exit_code and (options.preflight == "exit" or report.exit_code == EXIT_CONFIG):
                return report.exit_code
            show_banner(_facts(config, report, servers), options, stream)
            election = stack.enter_context(
                Election(config, options, say=say, metrics=metrics, clock=clock)
            )
            program = Program(
                client,
                options,
                stop,
                registry=registry,
                elect=election.elect if options.leader_elect else None,
                progress_seconds=interval,
                clock=clock,
            )
            fence.guard(program.manager.may_write)
            servers.show(program)
            program.run()
    log.info("Stopped")
    return EXIT_OK


def _client(
    transport: Transport, options: Options, stop: threading.Event, metrics: ClientMetrics, clock: Clock
) -> Client:
    return Client(
        transport,
        qps=options.kube_api_qps,
        burst=options.kube_api_burst or math.ceil(2 * options.kube_api_qps),
        metrics=metrics,
        user_agent=f"handloop/{version()}",
        clock=clock,
        stop=stop,
    )


def _preflight(
    client: Client, config: ClientConfig, options: Options, stop: threading.Event, clock: Clock
) -> Report:
    if options.preflight == "off":
        return Report(summary="off")
    preflight = preflight_for(client, config, options, clock)
    return preflight.check(stop, tries=PREFLIGHT_TRIES_WHEN_EXITING if options.preflight == "exit" else 1)


def _facts(config: ClientConfig, report: Report, servers: _Servers) -> Facts:
    return Facts(
        host=shown_server(config.host),
        context=config.context_name,
        source=config.source,
        server_version=report.server_version,
        user=report.user or config.user_name,
        metrics=servers.metrics,
        health=servers.health,
        checks=report.summary,
    )


class _Servers:
    """
    The metrics and health servers: bound by the constructor, serving inside the context.

    State: _program, None until show(); written by main, read by the threads that answer, under _lock.
    """

    def __init__(self, options: Options, registry: CollectorRegistry) -> None:
        self._servers: list[PageServer] = []
        self._lock = new_lock("_Servers._lock", 95)
        self._program: Program | None = None
        try:
            self.metrics = self._bind(
                options.metrics_bind_address, "metrics", {"/metrics": metrics_page(registry)}
            )
            self.health = self._bind(
                options.health_probe_bind_address,
                "health",
                {"/healthz": self._live, "/livez": self._live, "/readyz": self._ready},
            )
        except BaseException:
            self._stop()
            raise

    def show(self, program: Program) -> None:
        """Answer for a program from here on; until then it is alive and not ready."""
        with self._lock:
            self._program = program

    def _shown(self) -> Program | None:
        with self._lock:
            return self._program

    def _live(self, query: Mapping[str, list[str]]) -> tuple[int, str, bytes]:
        program = self._shown()
        return health_page({"ping": _well} if program is None else program.liveness_checks())(query)

    def _ready(self, query: Mapping[str, list[str]]) -> tuple[int, str, bytes]:
        program = self._shown()
        return health_page({"preflight": _starting} if program is None else program.readiness_checks())(query)

    def _bind(self, address: BindAddress | None, purpose: str, pages: dict[str, Page]) -> str:
        """Returns: the address for the banner."""
        if address is None:
            return "off"
        server = PageServer(address.host, address.port, pages, purpose=purpose)
        self._servers.append(server)
        return str(BindAddress(address.host, server.port))

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Serve for as long as the context lasts."""
        try:
            for server in self._servers:
                server.start()
            yield
        finally:
            self._stop()

    def _stop(self) -> None:
        for server in self._servers:
            server.stop()


def _well() -> None:
    """Nothing is wrong."""


def _starting() -> str:
    return "not finished"
