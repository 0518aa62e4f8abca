"""The command line's options, with their defaults. Each field has a flag, which the module `flags` reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, NamedTuple

from handloop.controller.cli.operator import Operator, Setup
from handloop.controller.cli.values import (
    HEALTH_ADDRESS,
    METRICS_ADDRESS,
    boolean,
    duration,
    https_url,
    ip_address_text,
    is_label_selector,
    lease_name,
    listed,
    namespace_name,
    namespaces,
    not_negative,
    number,
    one_of,
    port_number,
    positive,
    verbosity_level,
    whole,
    workers_count,
)
from handloop.controller.runtime.election.durations import (
    LEASE_DURATION_SECONDS,
    RENEW_DEADLINE_SECONDS,
    RETRY_PERIOD_SECONDS,
)
from handloop.controller.runtime.serving.bind_address import BindAddress, parse_bind_address

ASKING: Final = ("run", "doctor", "plan")
"""The commands that send requests to an API server."""
_DECLARING: Final = ("run", "doctor", "manifests")
"""The commands that need the declared access."""
_LOGGING: Final = ("run", "sandbox", "doctor", "plan")
_SANDBOX: Final = ("run", "sandbox")


class Flag(NamedTuple):
    """
    How an option is read from the command line and the environment.

    For example, the greeter reads kube_api_qps from `--kube-api-qps` or `$GREETER_KUBE_API_QPS`. env is a
    format string for the operator's prefix and the option's name; "" means that no variable sets the option.
    """

    parse: Callable[[str], Any]
    metavar: str
    help: str
    commands: Sequence[str]
    short: str
    env: str

    def variable(self, name: str, operator: Operator) -> str:
        """Return the environment variable for the option with this name, or "" if there is none."""
        return self.env.format(operator.prefix, name.upper())


def spelling(name: str) -> str:
    """Return the flag of an option."""
    return "--" + name.replace("_", "-")


def _option(
    default: Any,
    parse: Callable[[str], Any],
    metavar: str,
    text: str,
    commands: Sequence[str] = ("run",),
    *,
    short: str = "",
    env: str = "{}_{}",
) -> Any:
    return field(default=default, metadata={"flag": Flag(parse, metavar, text, commands, short, env)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """
    The parsed and validated command line of an operator.

    in_cluster and own_namespace have no flags, because they come from the pod. The defaults for the
    controllers, the workers and the name of the lease come from the operator.
    """

    operator: Operator
    command: str = "run"
    what: str = ""
    sandbox: bool = False
    in_cluster: bool = False
    own_namespace: str = ""
    kubeconfig: str = _option("", str, "PATH", "path of a kubeconfig file", ASKING, env="KUBECONFIG")
    master: str = _option(
        "", str, "URL", "address of the API server, instead of the one in the kubeconfig", ASKING, env=""
    )
    context: str = _option("", str, "NAME", "context of the kubeconfig to use", ASKING)
    namespace: str = _option(
        "",
        namespaces,
        "NAME",
        "namespaces to watch: one, several (a,b), or all with a label (team=a); empty means all (also -A)",
        (*_DECLARING, "plan"),
        short="n",
    )
    controllers: tuple[str, ...] = _option(
        (), listed, "NAMES", "controllers to run, of {}; * means all", (*_DECLARING, "plan")
    )
    workers: int = _option(
        0,
        workers_count,
        "N",
        "worker threads per controller, unless a controller sets its own number",
        ("run", "plan"),
    )
    resync: float = _option(
        30.0,
        duration,
        "D",
        "how often every cached object is reconciled again, to repair what no watch event reports (30s); "
        "0 means never",
    )
    verbosity: int = _option(
        0,
        verbosity_level,
        "0..9",
        "log level: 0 essentials, 2 steady state, 4 decisions, 6 requests, 8 bodies",
        _LOGGING,
        short="v",
        env="{}_V",
    )
    log_format: str = _option(
        "",
        one_of("klog", "text", "json"),
        "FORMAT",
        "klog, text or json; by default text on a terminal, json in a cluster, otherwise klog",
        _LOGGING,
    )
    metrics_bind_address: BindAddress | None = _option(  # noqa: RUF009 - a field, like the others
        METRICS_ADDRESS,
        parse_bind_address,
        "ADDR",
        "where /metrics is served (127.0.0.1:8080; in a cluster :8080, all interfaces); 0 turns it off",
    )
    health_probe_bind_address: BindAddress | None = _option(  # noqa: RUF009 - a field, like the others
        HEALTH_ADDRESS,
        parse_bind_address,
        "ADDR",
        "where /healthz and /readyz are served (127.0.0.1:8081; in a cluster :8081, all interfaces); "
        "0 turns them off",
    )
    preflight: str = _option(
        "warn",
        one_of("warn", "exit", "off"),
        "MODE",
        "check server, CRDs and permissions first; if a check fails, warn continues and exit stops; "
        "off skips the checks",
    )
    shutdown_timeout: float = _option(
        30.0, duration, "D", "how long to wait for running reconciles when stopping"
    )
    kube_api_qps: float = _option(
        0.0, not_negative, "N", "requests per second to the API server; 0 means no limit"
    )
    kube_api_burst: int = _option(
        0, whole, "N", "largest burst of requests above that rate; 0 means twice the rate"
    )
    disable_compression: bool = _option(
        False,
        boolean,
        "BOOL",
        "request responses without gzip and with managedFields, although these are not used",
    )
    sandbox_kubeconfig: str = _option(
        ".sandbox/kubeconfig", str, "PATH", "where the sandbox writes its kubeconfig", _SANDBOX
    )
    sandbox_port: int = _option(0, port_number, "N", "port of the sandbox; 0 picks a free one", _SANDBOX)
    sandbox_speed: float = _option(
        1.0, positive, "X", "speed of the simulated pods; 10 is ten times as fast", _SANDBOX
    )
    sandbox_address: str = _option(
        "127.0.0.1",
        ip_address_text,
        "IP",
        "IP address of the sandbox; any address other than loopback opens it to the network",
        _SANDBOX,
    )
    sandbox_tls: bool = _option(
        False,
        boolean,
        "BOOL",
        "serve the sandbox over TLS; the kubeconfig contains its certificate authority",
        _SANDBOX,
    )
    bare: bool = _option(
        False,
        boolean,
        "BOOL",
        "start the sandbox without controllers and CRDs, as in envtest, so that only clients change objects",
        ("sandbox",),
        env="",
    )
    output: str = _option(
        "",
        one_of("", "json"),
        "FORMAT",
        "json in place of text",
        ("version", "doctor", "plan"),
        short="o",
        env="",
    )
    production: bool = _option(
        False,
        boolean,
        "BOOL",
        "also check the Deployment in the cluster: replicas, probes, resources and more",
        ("doctor",),
        env="",
    )
    only_restarts: bool = _option(
        False, boolean, "BOOL", "show only the writes that restart pods", ("plan",), env=""
    )
    with_outside: bool = _option(
        False,
        boolean,
        "BOOL",
        "also plan reconciles that act outside the cluster; their actions there are performed, not planned",
        ("plan",),
        env="",
    )
    metrics_cert_dir: str = _option(
        "",
        str,
        "PATH",
        "folder with tls.crt and tls.key, to serve /metrics over TLS",
    )
    metrics_auth: bool = _option(
        False,
        boolean,
        "BOOL",
        "serve /metrics over TLS, only to clients that the API server allows to read it; without "
        "--metrics-cert-dir, the program creates a certificate",
        _DECLARING,
    )
    webhook_bind_address: BindAddress | None = _option(  # noqa: RUF009 - a field, like the others
        None,
        parse_bind_address,
        "ADDR",
        "where the conversion webhook listens if kinds are converted (in a cluster :9443, all interfaces)",
    )
    webhook_cert_dir: str = _option(
        "",
        str,
        "PATH",
        "folder with the webhook's tls.crt and tls.key, and ca.crt for the definitions; by default the "
        "program creates these in a Secret",
        _DECLARING,
    )
    webhook_service: str = _option(
        "",
        str,
        "NAME",
        "the conversion webhook's Service, in the program's namespace (NAME-webhook)",
        _DECLARING,
    )
    webhook_url: str = _option(
        "",
        https_url,
        "URL",
        "URL of the conversion webhook, for a program outside the cluster",
        _DECLARING,
    )
    debug_listen: BindAddress | None = _option(  # noqa: RUF009 - a field, like the others
        None,
        parse_bind_address,
        "ADDR",
        "where the live page is served (by default only with --sandbox, on 127.0.0.1); 0 turns it off",
    )
    debug_controls: bool = _option(
        False,
        boolean,
        "BOOL",
        "let the live page pause workers, make keys fail and so on (on with --sandbox, otherwise off)",
    )

    # leader election

    leader_elect: bool = _option(
        False,
        boolean,
        "BOOL",
        "work only while holding a lease, so that several replicas can run",
        _DECLARING,
    )
    leader_elect_lease_duration: float = _option(
        LEASE_DURATION_SECONDS,
        duration,
        "D",
        "how long other replicas wait for a leader that does not renew; fractions of a second are dropped",
    )
    leader_elect_renew_deadline: float = _option(
        RENEW_DEADLINE_SECONDS, duration, "D", "how long a leader keeps working without renewing the lease"
    )
    leader_elect_retry_period: float = _option(
        RETRY_PERIOD_SECONDS, duration, "D", "pause between attempts to acquire or renew the lease"
    )
    leader_elect_resource_name: str = _option("", lease_name, "NAME", "name of the lease", _DECLARING)
    leader_elect_resource_namespace: str = _option(
        "",
        namespace_name,
        "NAME",
        "namespace of the lease; in a cluster the default is the program's namespace",
        _DECLARING,
    )

    # shards

    shards: int = _option(
        0,
        number(int, 0, 256, "slots are 1 to 256; 0 turns shards off"),
        "N",
        "split the work into N slots and share them with the other replicas; 0 means off; the "
        "--leader-elect flags for the lease's name, namespace and durations apply",
        _DECLARING,
    )
    shards_by: str = _option(
        "namespace",
        one_of("namespace", "uid"),
        "WHAT",
        "what an object's slot depends on: its namespace, or its uid",
        _DECLARING,
    )

    def __post_init__(self) -> None:
        operator = self.operator
        defaults = {
            "controllers": operator.names,
            "workers": operator.workers,
            "leader_elect_resource_name": operator.name,
        }
        for name, value in defaults.items():
            # The class is frozen: only this code may set its fields.
            object.__setattr__(self, name, getattr(self, name) or value)

    def setups(self) -> tuple[Setup, ...]:
        """Return the chosen controllers."""
        return self.operator.chosen(self.controllers)

    @property
    def namespace_labels(self) -> str:
        """Return the label selector for the namespaces to watch, or "" if there is none."""
        return self.namespace if is_label_selector(self.namespace) else ""

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Return the distinct namespaces to watch. () means all, or those that namespace_labels selects."""
        if self.namespace_labels:
            return ()
        return tuple(dict.fromkeys(name.strip() for name in self.namespace.split(",") if name.strip()))


FLAGS: Final[Mapping[str, Flag]] = {f.name: f.metadata["flag"] for f in fields(Options) if f.metadata}
"""The flag of each option, by the option's name."""
