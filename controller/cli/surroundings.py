"""
What the options of `run` and `doctor` mean where the program runs: in a pod, on a laptop, with the sandbox.

Follows: controller-runtime pkg/leaderelection for the namespace of the lease (the program's own; outside a
cluster a flag names it), client-go for the durations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from handloop.client.auth.in_cluster import SERVICE_ACCOUNT, in_cluster_namespace, in_cluster_possible
from handloop.controller.cli.live_page import check_live_page, live_page_defaults
from handloop.controller.cli.options import Options
from handloop.controller.cli.values import HEALTH_ADDRESS, LOOPBACK, METRICS_ADDRESS, format_duration
from handloop.controller.runtime.election.durations import validate_durations

_SANDBOX_NAMESPACE: Final = "default"


def options_here(
    given: Mapping[str, Any], environment: Mapping[str, str], service_account: str = ""
) -> Options:
    """
    The options that were given, and defaults that suit the place.

    Args: service_account is the folder in which a pod finds its account, "" = the usual one.
    Raises: ValueError for options that do not go together, or a lease without a namespace.
    """
    account = service_account or SERVICE_ACCOUNT
    in_cluster = in_cluster_possible(environment, account)
    defaults: dict[str, Any] = {"in_cluster": in_cluster}
    if given.get("sandbox"):
        # a laptop: loopback only, and no clash with a server that listens on 8080 already
        defaults |= {"metrics_bind_address": LOOPBACK, "health_probe_bind_address": LOOPBACK}
        defaults |= live_page_defaults(given)
    elif in_cluster:
        # probes and scrapes come from other addresses
        defaults["metrics_bind_address"] = replace(METRICS_ADDRESS, host="")
        defaults["health_probe_bind_address"] = replace(HEALTH_ADDRESS, host="")
    options = Options(**defaults | dict(given))
    _check_durations(options)
    check_live_page(options)
    if options.metrics_auth and not options.metrics_cert_dir and options.command == "run":
        raise ValueError("--metrics-auth makes clients send tokens: it needs --metrics-cert-dir, for TLS")
    if not options.leader_elect or options.leader_elect_resource_namespace:
        return options
    namespace = _own_namespace(options, environment, account)
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
        "outside a cluster --leader-elect needs --leader-elect-resource-namespace=NAME, for the lease"
    )
