"""
What the options say about leader election, taken together.

Follows: controller-runtime pkg/leaderelection for the namespace (the program's own; outside a cluster it has
to be said), client-go for the durations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from handloop.client.auth.in_cluster import SERVICE_ACCOUNT, in_cluster_namespace
from handloop.controller.cli.durations import format_duration
from handloop.controller.cli.options import ASKING, Options
from handloop.controller.runtime.election.config import validate_durations

_SANDBOX_NAMESPACE: Final = "default"


def checked_election(
    options: Options, environment: Mapping[str, str], *, service_account: str = SERVICE_ACCOUNT
) -> Options:
    """
    The options with the namespace of the lease filled in, if there is to be one.

    Raises: ValueError for durations that do not go together, or a namespace that nobody knows.
    """
    _check_durations(options)
    if options.metrics_auth and not options.metrics_cert_dir and options.command == "run":
        raise ValueError("--metrics-auth makes clients send tokens: it needs --metrics-cert-dir, for TLS")
    if not options.leader_elect or options.leader_elect_resource_namespace or options.command not in ASKING:
        return options
    namespace = _own_namespace(options, environment, service_account)
    return replace(options, leader_elect_resource_namespace=namespace)


def _check_durations(options: Options) -> None:
    lease = options.leader_elect_lease_duration
    deadline, retry = options.leader_elect_renew_deadline, options.leader_elect_retry_period
    try:
        validate_durations(lease, deadline, retry)
    except ValueError as error:
        said = {
            "--leader-elect-lease-duration": lease,
            "--leader-elect-renew-deadline": deadline,
            "--leader-elect-retry-period": retry,
        }
        words = " ".join(f"{flag}={format_duration(seconds)}" for flag, seconds in said.items())
        raise ValueError(f"{error} ({words})") from None


def _own_namespace(options: Options, environment: Mapping[str, str], service_account: str) -> str:
    if environment.get("POD_NAMESPACE") or Path(service_account, "namespace").exists():
        return in_cluster_namespace(environment, service_account)
    if options.sandbox:
        return _SANDBOX_NAMESPACE
    raise ValueError(
        "--leader-elect outside a cluster needs --leader-elect-resource-namespace=NAME, for the lease"
    )
