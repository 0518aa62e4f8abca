"""`run`, the default command: runs the controllers with the given options, and returns the exit code."""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from typing import Any, TextIO

from handloop.client.config import ClientConfig, load_config
from handloop.client.errors import ConfigError
from handloop.client.server_url import shown_server
from handloop.controller.cli.alone import Process
from handloop.controller.cli.connection_problems import config_problem
from handloop.controller.cli.live_page import LivePage, live_page
from handloop.controller.cli.logs import tell
from handloop.controller.cli.options import Options
from handloop.controller.cli.preflight import REQUEST_SECONDS, TRIES, Preflight, Report
from handloop.controller.cli.problems import (
    EXIT_CONFIG,
    EXIT_FATAL,
    EXIT_OK,
    Problem,
    cannot_share,
    port_in_use,
    stop_took_too_long,
    version_skew,
)
from handloop.controller.cli.replicas import replicas_of
from handloop.controller.cli.terminal import printable, show
from handloop.controller.cli.values import format_duration
from handloop.controller.runtime.process_services import ProcessServices
from handloop.controller.runtime.servers import Pages
from handloop.controller.runtime.serving.listening import ListenError
from handloop.seams.logs import get_logger
from handloop.seams.seams import REAL_SEAMS, Seams

log = get_logger("controller")


def run(options: Options, stop: threading.Event, stream: TextIO, *, seams: Seams = REAL_SEAMS) -> int:
    """
    Run the controllers until stop is set.

    Args: stream receives the problems and the banner.
    Returns: the exit code.
    """
    with ExitStack() as stack:
        try:
            config = _configuration(options, stop, stack, stream)
            return _Run(config, options, stop, stream, seams).to_its_end()
        except ConfigError as error:
            if stop.is_set():
                return _stopped()
            return tell(config_problem(error, options.operator.command), options, stream)
        except ListenError as error:
            return tell(port_in_use(error), options, stream)


def _configuration(options: Options, stop: threading.Event, stack: ExitStack, stream: TextIO) -> ClientConfig:
    if options.sandbox:
        from handloop.controller.cli.sandbox_command import running_sandbox, sandbox_hint  # noqa: PLC0415

        kubeconfig = stack.enter_context(running_sandbox(options))
        config = load_config(kubeconfig=str(kubeconfig))
        sandbox_hint(kubeconfig.resolve(), options.operator.setups(), stream)
    else:
        config = load_config(
            kubeconfig=options.kubeconfig, master=options.master, context=options.context, stop=stop
        )
    return replace(config, disable_compression=True) if options.disable_compression else config


def _stopped() -> int:
    log.info("Stopped")
    return EXIT_OK


class _Run:
    """
    One run of the program with one configuration.

    The program's HTTP pages start first, then the checks, and then the controllers.
    """

    def __init__(
        self, config: ClientConfig, options: Options, stop: threading.Event, stream: TextIO, seams: Seams
    ) -> None:
        self._config = config
        self._options = options
        self._replicas = replicas_of(options)
        self._stop = stop
        self._stream = stream
        self._seams = seams

    def to_its_end(self) -> int:
        """
        Run until stop is set.

        Returns: the exit code.
        Raises: ConfigError for a bad configuration; ListenError if a port is in use; the error
        of a controller that failed.
        """
        # Listen first, so that a port in use is reported immediately, and probes reach a process that starts
        # slowly.
        with self._services() as services, live_page(self._options) as live:
            report = self._preflight(services)
            if self._stop.is_set():
                return _stopped()
            skew = version_skew(report.server_version)
            for problem in (*report.problems, *([skew] if skew else [])):
                self._say(problem)
            if report.exit_code and (self._options.preflight == "exit" or report.exit_code == EXIT_CONFIG):
                return report.exit_code
            show_banner(self._options.operator.name, self._facts(report, services, live), self._stream)
            with self._fit_watch(services) as definitions:
                if definitions is not None:
                    services.also_ready("definitions", definitions.check)
                try:
                    return self._work(services, live)
                except self._replicas.refusals as error:
                    self._say(cannot_share(error))
                    return EXIT_CONFIG

    def _say(self, problem: Problem) -> None:
        tell(problem, self._options, self._stream)

    def _services(self) -> ProcessServices:
        options = self._options
        return ProcessServices(
            self._config,
            user_agent=options.operator.user_agent,
            pages=Pages(
                metrics=options.metrics_bind_address,
                health=options.health_probe_bind_address,
                # In a pod, any Host header is accepted: a proxy may forward its clients' headers, and no
                # browser runs in a pod.
                any_host=options.in_cluster,
                certificate_folder=options.metrics_cert_dir,
                metrics_auth=options.metrics_auth,
            ),
            qps=options.kube_api_qps,
            burst=options.kube_api_burst,
            stop=self._stop,
            seams=self._seams,
        )

    def _preflight(self, services: ProcessServices) -> Report:
        if self._options.preflight == "off":
            return Report(summary="off")
        tries = TRIES if self._options.preflight == "exit" else 1
        client = services.client_within(REQUEST_SECONDS)
        checks = Preflight(client, self._config, self._options, self._seams)
        return checks.check(self._stop, tries=tries)

    def _fit_watch(self, services: ProcessServices) -> AbstractContextManager[Any]:
        if self._options.preflight == "off":
            return nullcontext()
        from handloop.controller.cli.fit_watch import FitWatch  # noqa: PLC0415 - as Program

        client = services.client_within(REQUEST_SECONDS)
        return FitWatch(client, self._options, self._say, services.registry, self._seams)

    def _facts(self, report: Report, services: ProcessServices, live: LivePage) -> dict[str, Any]:
        """Return the facts for the banner. A fact that is unknown is ""."""
        options = self._options
        replicas = self._replicas.facts()
        return {
            "version": options.operator.version(),
            "cluster": shown_server(self._config.host),
            "serverVersion": report.server_version,
            "context": self._config.context_name,
            "source": self._config.source,
            "identity": report.user or self._config.user_name,
            "controllers": ",".join(setup.name for setup in options.setups()),
            "namespaces": options.namespace or "all",
            "workers": options.workers,
            "resync": format_duration(options.resync),
            "metrics": services.metrics,
            "health": services.health,
            "checks": report.summary + (replicas and f"  ✓ {replicas}"),
            **({"live": live.shown} if live.shown else {}),
        }

    def _work(self, services: ProcessServices, live: LivePage) -> int:
        # Import these only now, because the checks need neither informers nor controllers.
        from handloop.controller.cli.program import Program  # noqa: PLC0415
        from handloop.controller.runtime.election.leader_election import (  # noqa: PLC0415
            LeadershipLost,
            StopTimeoutError,
        )

        options, replicas = self._options, self._replicas
        process = Process(self._config, services, self._say, live.end, self._seams)
        program = Program(
            services.client,
            options,
            self._stop,
            registry=services.registry,
            certificates=services.certificates,
            manager_options=replicas.manager_options(process),
            on_terminal=self._stream.isatty(),
            seams=self._seams,
        )
        closing = replicas.join(program.manager, process)
        # The servers are closed before these. If the servers do not stop, the process still ends in time.
        services.attach(program.manager, *closing)
        live.show(program, self._config)
        clean = True
        try:
            program.run()
        except* LeadershipLost:
            # E12 was already printed.
            clean = False
        except* StopTimeoutError as several:
            clean = False
            for error in several.exceptions:
                self._say(stop_took_too_long(error, options.shutdown_timeout))
        return _stopped() if clean else EXIT_FATAL


def show_banner(name: str, facts: Mapping[str, Any], stream: TextIO) -> None:
    """Write the banner to a terminal. If the stream is not a terminal, log the facts in one line."""
    if stream.isatty():
        show(banner(name, facts), stream)
    else:
        said = f"Starting {name}"
        log.info(said, **facts)


def banner(name: str, facts: Mapping[str, Any]) -> str:
    """Return the banner: six lines, and one more if there is a live page. A fact that is unknown is ""."""
    server = f" ({facts['serverVersion']})" if facts["serverVersion"] else ""
    context = f"  context {facts['context']}" if facts["context"] else ""
    source = f"  from {facts['source']}" if facts["source"] else ""
    named = f"{name} {facts['version']}".rstrip()
    controllers = facts["controllers"].replace(",", ", ")
    rows = [
        f"{named} · python {platform.python_version()} · pid {os.getpid()}",
        f"  cluster   {facts['cluster']}{server}{context}{source}",
        f"  identity  {facts['identity'] or 'unknown'} · namespaces: {facts['namespaces']}",
        f"  running   {controllers} · workers {facts['workers']} each · resync {facts['resync']}",
        f"  serving   metrics {facts['metrics']} · health {facts['health']}",
        f"  checks    {facts['checks']}",
        *([f"  live      {facts['live']}"] if "live" in facts else []),
    ]
    return "\n".join(map(printable, rows)) + "\n"
