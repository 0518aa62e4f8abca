"""
The flags and environment variables, with their defaults.

One field is one flag; handloop.controller.cli.flags reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from handloop.controller.cli.values import (
    HEALTH_ADDRESS,
    METRICS_ADDRESS,
    NAMES,
    BindAddress,
    boolean,
    controller_names,
    duration,
    ip_address_text,
    lease_name,
    not_negative,
    one_of,
    parse_bind_address,
    port_number,
    verbosity_level,
    whole,
    workers_count,
)
from handloop.controller.runtime.election.durations import (
    LEASE_DURATION_SECONDS,
    RENEW_DEADLINE_SECONDS,
    RETRY_PERIOD_SECONDS,
)

LOG_FORMATS: Final = ("klog", "text", "json")
PREFLIGHT_MODES: Final = ("warn", "exit", "off")
ASKING: Final = ("run", "doctor")
"""The commands that ask an API server."""


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
    """A dataclass field that says how its flag is read."""
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
    """
    One command line, read and checked. One field is one flag: `kube_api_qps` is `--kube-api-qps`.

    in_cluster is not a flag: it says that we run in a pod.
    """

    command: str = "run"
    what: str = ""
    sandbox: bool = False
    in_cluster: bool = False
    kubeconfig: str = _option(
        "",
        str,
        "path of a kubeconfig file",
        env="KUBECONFIG",
        metavar="PATH",
        commands=ASKING,
    )
    master: str = _option(
        "", str, "address of the API server, in place of the kubeconfig's", metavar="URL", commands=ASKING
    )
    context: str = _option(
        "",
        str,
        "context of the kubeconfig to use",
        env="CONTROLLER_CONTEXT",
        metavar="NAME",
        commands=ASKING,
    )
    namespace: str = _option(
        "",
        str,
        "namespace to watch, or several: a,b; empty means all (also -A)",
        env="CONTROLLER_NAMESPACE",
        short="n",
        metavar="NAME",
        commands=(*ASKING, "manifests"),
    )
    controllers: tuple[str, ...] = _option(
        NAMES,
        controller_names,
        f"controllers to run, out of {', '.join(NAMES)}; * means all",
        env="CONTROLLER_CONTROLLERS",
        metavar="NAMES",
        commands=(*ASKING, "manifests"),
    )
    workers: int = _option(
        2, workers_count, "worker threads per controller", env="CONTROLLER_WORKERS", metavar="N"
    )
    resync: float = _option(
        30.0,
        duration,
        "how often the informers resync; 0 means never",
        env="CONTROLLER_RESYNC",
        metavar="D",
    )
    verbosity: int = _option(
        0,
        verbosity_level,
        "log level: 0 always, 2 steady state, 4 decisions, 6 requests, 8 bodies",
        env="CONTROLLER_V",
        short="v",
        metavar="0..9",
        commands=("run", "sandbox", "doctor"),
    )
    log_format: str = _option(
        "",
        one_of(*LOG_FORMATS),
        "klog, text or json; by default text on a terminal, json in a cluster, else klog",
        env="CONTROLLER_LOG_FORMAT",
        metavar="FORMAT",
        commands=("run", "sandbox", "doctor"),
    )
    metrics_bind_address: BindAddress | None = _option(  # noqa: RUF009 - a field, as the others
        METRICS_ADDRESS,
        parse_bind_address,
        "where /metrics is served (127.0.0.1:8080; in a cluster :8080, all interfaces); 0 turns it off",
        env="CONTROLLER_METRICS_BIND_ADDRESS",
        metavar="ADDR",
    )
    health_probe_bind_address: BindAddress | None = _option(  # noqa: RUF009 - a field, as the others
        HEALTH_ADDRESS,
        parse_bind_address,
        "where /healthz and /readyz are served (127.0.0.1:8081; in a cluster :8081, all interfaces); "
        "0 turns them off",
        env="CONTROLLER_HEALTH_PROBE_BIND_ADDRESS",
        metavar="ADDR",
    )
    preflight: str = _option(
        "warn",
        one_of(*PREFLIGHT_MODES),
        "check server, CRDs and permissions first, then: warn and go on, or exit; off asks nothing",
        env="CONTROLLER_PREFLIGHT",
        metavar="MODE",
    )
    shutdown_timeout: float = _option(
        30.0,
        duration,
        "how long a stop waits for work in flight",
        env="CONTROLLER_SHUTDOWN_TIMEOUT",
        metavar="D",
    )
    kube_api_qps: float = _option(
        0.0,
        not_negative,
        "requests per second to the API server; 0 means no limit",
        env="CONTROLLER_KUBE_API_QPS",
        metavar="N",
    )
    kube_api_burst: int = _option(
        0,
        whole,
        "how many requests may exceed that rate at once; 0 means twice the rate",
        env="CONTROLLER_KUBE_API_BURST",
        metavar="N",
    )
    sandbox_kubeconfig: str = _option(
        ".sandbox/kubeconfig",
        str,
        "where the sandbox writes its kubeconfig",
        env="CONTROLLER_SANDBOX_KUBECONFIG",
        metavar="PATH",
        commands=("run", "sandbox"),
    )
    sandbox_port: int = _option(
        0,
        port_number,
        "port of the sandbox; 0 picks a free one",
        env="CONTROLLER_SANDBOX_PORT",
        metavar="N",
        commands=("run", "sandbox"),
    )
    sandbox_speed: float = _option(
        1.0,
        not_negative,
        "speed of the simulated pods; 10 is ten times as fast",
        env="CONTROLLER_SANDBOX_SPEED",
        metavar="X",
        commands=("run", "sandbox"),
    )
    sandbox_address: str = _option(
        "127.0.0.1",
        ip_address_text,
        "IP address of the sandbox; any but loopback opens it to the network",
        env="CONTROLLER_SANDBOX_ADDRESS",
        metavar="IP",
        commands=("run", "sandbox"),
    )
    sandbox_tls: bool = _option(
        False,
        boolean,
        "serve the sandbox over TLS, with a certificate of its own in the kubeconfig",
        env="CONTROLLER_SANDBOX_TLS",
        metavar="BOOL",
        commands=("run", "sandbox"),
    )
    output: str = _option(
        "",
        one_of("", "json"),
        "json in place of text",
        short="o",
        metavar="FORMAT",
        commands=("version", "doctor"),
    )
    metrics_cert_dir: str = _option(
        "",
        str,
        "folder with tls.crt and tls.key, to serve /metrics over TLS",
        env="CONTROLLER_METRICS_CERT_DIR",
        metavar="PATH",
    )
    metrics_auth: bool = _option(
        False,
        boolean,
        "ask the API server who may read /metrics; needs --metrics-cert-dir",
        env="CONTROLLER_METRICS_AUTH",
        metavar="BOOL",
        commands=(*ASKING, "manifests"),
    )
    debug_listen: BindAddress | None = _option(  # noqa: RUF009 - a field, as the others
        None,
        parse_bind_address,
        "where the live page is served (with --sandbox 127.0.0.1:0, a free port; else off); 0 turns it off",
        env="CONTROLLER_DEBUG_LISTEN",
        metavar="ADDR",
    )
    debug_controls: bool = _option(
        False,
        boolean,
        "let the live page act: pause workers, fail keys and the like (with --sandbox on, else off)",
        env="CONTROLLER_DEBUG_CONTROLS",
        metavar="BOOL",
    )

    # leader election

    leader_elect: bool = _option(
        False,
        boolean,
        "work only while holding a lease, so that several replicas can run",
        env="CONTROLLER_LEADER_ELECT",
        metavar="BOOL",
        commands=(*ASKING, "manifests"),
    )
    leader_elect_lease_duration: float = _option(
        LEASE_DURATION_SECONDS,
        duration,
        "how long other replicas wait for a silent leader; only whole seconds count",
        env="CONTROLLER_LEADER_ELECT_LEASE_DURATION",
        metavar="D",
    )
    leader_elect_renew_deadline: float = _option(
        RENEW_DEADLINE_SECONDS,
        duration,
        "how long a leader works on without renewing the lease",
        env="CONTROLLER_LEADER_ELECT_RENEW_DEADLINE",
        metavar="D",
    )
    leader_elect_retry_period: float = _option(
        RETRY_PERIOD_SECONDS,
        duration,
        "pause between two attempts to take or renew the lease",
        env="CONTROLLER_LEADER_ELECT_RETRY_PERIOD",
        metavar="D",
    )
    leader_elect_resource_name: str = _option(
        "handloop",
        lease_name,
        "name of the lease",
        env="CONTROLLER_LEADER_ELECT_RESOURCE_NAME",
        metavar="NAME",
        commands=(*ASKING, "manifests"),
    )
    leader_elect_resource_namespace: str = _option(
        "",
        lease_name,
        "namespace of the lease; in a cluster empty means the program's own",
        env="CONTROLLER_LEADER_ELECT_RESOURCE_NAMESPACE",
        metavar="NAME",
        commands=(*ASKING, "manifests"),
    )

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces to watch, each once; () = all."""
        return tuple(dict.fromkeys(name.strip() for name in self.namespace.split(",") if name.strip()))
