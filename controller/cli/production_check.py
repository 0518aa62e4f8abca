"""
`doctor --production`: checks whether the program's deployment in the cluster is fit for production.

The checks read the Deployment and the objects around it, but send no requests to the program.
docs/production.md explains the reason for each check.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Final
from urllib.parse import quote

from handloop.client.errors import APIError
from handloop.client.resource_client import Client
from handloop.controller.cli.flags import UsageError
from handloop.controller.cli.options import Options
from handloop.controller.cli.problems import EXIT_FATAL, Problem
from handloop.controller.cli.project_files import DEFAULT_CONTAINER, SOMEWHERE, container_options
from handloop.controller.cli.replicas import replicas_of
from handloop.seams.clock import Clock

DRAIN_SECONDS: Final = 8.0
"""
After --shutdown-timeout, a process needs this time to release its leases, send its Events, and stop its
caches and servers.
"""
_FORBIDDEN: Final = 403
_NOT_FOUND: Final = 404
_LEASES: Final = "apis/coordination.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class Line:
    """
    The result of one check.

    Args: fix is what to do if the check failed. unknown is the reason why the result is unknown, or "" if it
    is known.
    """

    what: str
    ok: bool
    fix: str
    unknown: str = ""

    @property
    def subject(self) -> str:
        """The check as the table shows it."""
        return f"{self.what} ({self.unknown})" if self.unknown else self.what


class Deployed:
    """The operator's Deployment, and the objects in its namespace. Args: now is in seconds since 1970."""

    def __init__(self, client: Client, options: Options, deployment: Mapping[str, Any], now: float) -> None:
        self._client = client
        self._now = now
        self.deployment = deployment
        self.spec: Mapping[str, Any] = deployment["spec"]
        self.pod: Mapping[str, Any] = self.spec["template"]["spec"]
        containers = self.pod["containers"]
        chosen = (self.spec["template"]["metadata"].get("annotations") or {}).get(DEFAULT_CONTAINER)
        named = [one for one in containers if one["name"] == chosen]
        self.container: Mapping[str, Any] = named[0] if named else containers[0]
        self.options = container_options(options.operator, self.container)

    @property
    def namespace(self) -> str:
        """The namespace of the Deployment."""
        return str(self.deployment["metadata"]["namespace"])

    @property
    def replicas(self) -> int:
        """The requested number of replicas."""
        return int(self.spec.get("replicas", 1))

    @cached_property
    def security(self) -> Mapping[str, Any]:
        """The merged security contexts of pod and container; the container's fields take precedence."""
        return {**(self.pod.get("securityContext") or {}), **(self.container.get("securityContext") or {})}

    @property
    def disruptions(self) -> list[Any]:
        """The disruption budgets that select the Deployment's pods."""
        return self._selecting("apis/policy/v1", "poddisruptionbudgets", "selector")

    @property
    def policies(self) -> list[Any]:
        """The network policies that select the Deployment's pods."""
        return self._selecting("apis/networking.k8s.io/v1", "networkpolicies", "podSelector")

    @property
    def alerts(self) -> list[Any]:
        """The PrometheusRules with alerts."""
        return self._items("apis/monitoring.coreos.com/v1", "prometheusrules")

    def held_leases(self) -> list[Any]:
        """Return the operator's Leases that are being renewed."""
        place = self.options.leader_elect_resource_namespace
        leases = self._items(_LEASES, "leases", "" if place == SOMEWHERE else place)
        name = replicas_of(self.options).lease_pattern()
        named = [one for one in leases if name.fullmatch(str(one["metadata"]["name"]))]
        return [one for one in named if _is_fresh(one["spec"], self._now)]

    def _selecting(self, group: str, plural: str, field: str) -> list[Any]:
        labels = self.spec["template"]["metadata"].get("labels") or {}
        found = self._items(group, plural)
        return [one for one in found if _selects(one["spec"].get(field) or {}, labels)]

    def _items(self, group: str, plural: str, namespace: str = "") -> list[Any]:
        """
        Return the objects of one resource in the given namespace (by default, the Deployment's namespace).

        Raises: APIError if the server refuses the request.
        """
        path = f"/{group}/namespaces/{quote(namespace or self.namespace, safe='')}/{plural}"
        items: list[Any] = json.loads(self._client.get_raw(path))["items"]
        return items


def production_lines(client: Client, options: Options, clock: Clock) -> list[Line]:
    """
    Check the operator's Deployment. If it does not exist, return one failed line.

    Raises: ClientError if the Deployment cannot be read.
    """
    place = options.leader_elect_resource_namespace or f"{options.operator.name}-system"
    found = _deployment(client, place, options.operator.name)
    if found is None:
        what = f"a Deployment named {options.operator.name} in the namespace {place}"
        return [Line(what, False, "--leader-elect-resource-namespace NAMESPACE, if it runs elsewhere")]
    try:
        deployed = Deployed(client, options, found, clock.time())
    except UsageError as error:
        return [Line(f"args that the program accepts: {error}", False, error.fix)]
    return [_line(deployed, *check) for check in _CHECKS]


def production_problem(lines: Sequence[Line]) -> Problem | None:
    """Return E22 if a line failed."""
    failed = [line for line in lines if not line.ok]
    if not failed:
        return None
    return Problem(
        code="E22",
        exit_code=EXIT_FATAL,
        what=f"{len(failed)} of {len(lines)} production checks failed",
        causes=tuple(f"failed check: {line.what}" for line in failed),
        fixes=tuple(line.fix for line in failed if line.fix),
    )


def _deployment(client: Client, namespace: str, name: str) -> Mapping[str, Any] | None:
    """Return the Deployment with the operator's name, or the one from its chart."""
    path = f"/apis/apps/v1/namespaces/{quote(namespace, safe='')}/deployments"
    try:
        named: Mapping[str, Any] = json.loads(client.get_raw(f"{path}/{quote(name, safe='')}"))
    except APIError as error:
        if error.code != _NOT_FOUND:
            raise
        items = json.loads(client.get_raw(path))["items"]
        charts = (str((one["metadata"].get("labels") or {}).get("helm.sh/chart", "")) for one in items)
        of_chart = [one for one, chart in zip(items, charts, strict=True) if chart.startswith(f"{name}-")]
        return of_chart[0] if of_chart else None
    return named


def _line(deployed: Deployed, what: str, holds: Callable[[Deployed], object], fix: str) -> Line:
    try:
        return Line(what, bool(holds(deployed)), fix)
    except APIError as error:
        if error.code == _NOT_FOUND:  # a server without the kind has no such object
            return Line(what, False, fix)
        # Denied access is the user's choice and not a failure, but an error of the server leaves the result
        # open.
        is_forbidden = error.code == _FORBIDDEN
        return Line(what, is_forbidden, fix, "not checked: may not be read" if is_forbidden else str(error))


def _is_fresh(spec: Mapping[str, Any], now: float) -> bool:
    renewed, seconds = spec.get("renewTime"), int(spec.get("leaseDurationSeconds") or 0)
    if not renewed or not spec.get("holderIdentity"):
        return False
    return now - datetime.fromisoformat(str(renewed)).timestamp() < 2 * seconds


def _selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Return whether a label selector matches the labels. Its matchExpressions are assumed to match."""
    return (selector.get("matchLabels") or {}).items() <= labels.items()


def _probe(name: str) -> Callable[[Deployed], object]:
    return lambda deployed: deployed.container.get(name)


def _resource(of: str, name: str) -> Callable[[Deployed], object]:
    return lambda deployed: ((deployed.container.get("resources") or {}).get(of) or {}).get(name)


def _is_spread(deployed: Deployed) -> bool:
    affinity = deployed.pod.get("affinity") or {}
    return bool(deployed.pod.get("topologySpreadConstraints") or affinity.get("podAntiAffinity"))


def _is_rolled_out(deployed: Deployed) -> bool:
    status, generation = (
        deployed.deployment.get("status") or {},
        deployed.deployment["metadata"]["generation"],
    )
    seen = status.get("observedGeneration") == generation
    return seen and status.get("updatedReplicas") == status.get("availableReplicas") == deployed.replicas


def _has_room(deployed: Deployed) -> bool:
    """Return whether a budget allows at least one pod to be evicted, so that a node can be drained."""
    return any(
        str(one["spec"].get("maxUnavailable", "0")) not in ("0", "0%")
        or int((one.get("status") or {}).get("disruptionsAllowed") or 0) > 0
        for one in deployed.disruptions
    )


def _drops_all(deployed: Deployed) -> bool:
    return "ALL" in ((deployed.security.get("capabilities") or {}).get("drop") or ())


def _image_is_fixed(deployed: Deployed) -> bool:
    image = str(deployed.container.get("image", "")).rpartition("/")[2]
    return "@" in image or (":" in image and not image.endswith(":latest"))


def _stops_in_time(deployed: Deployed) -> bool:
    grace = float(deployed.pod.get("terminationGracePeriodSeconds", 30))
    return grace >= deployed.options.shutdown_timeout + DRAIN_SECONDS


def _has_a_guard(deployed: Deployed) -> bool:
    return deployed.options.metrics_bind_address is None or deployed.options.metrics_auth


_CHECKS: Final[Sequence[tuple[str, Callable[[Deployed], object], str]]] = (
    ("two replicas or more", lambda one: one.replicas > 1, "replicas: 2, with --leader-elect or --shards"),
    (
        "leader election or shards",
        lambda one: replicas_of(one.options).flag,
        "args: --leader-elect",
    ),
    ("the rollout is complete", _is_rolled_out, "kubectl rollout status; why NAMESPACE/NAME"),
    (
        "a lease is held and renewed",
        lambda one: one.held_leases(),
        "read the pods' logs, and check the leases",
    ),
    ("a disruption budget allows an eviction", _has_room, "manifests/manager/pod_disruption_budget.yaml"),
    ("a startup probe", _probe("startupProbe"), "startupProbe: /healthz, for a minute"),
    ("a liveness probe", _probe("livenessProbe"), "livenessProbe: /healthz"),
    ("a readiness probe", _probe("readinessProbe"), "readinessProbe: /readyz"),
    ("a CPU request", _resource("requests", "cpu"), "resources.requests.cpu: 50m"),
    ("a memory request", _resource("requests", "memory"), "resources.requests.memory: what it uses"),
    ("a memory limit", _resource("limits", "memory"), "resources.limits.memory: twice what it uses"),
    (
        "no CPU limit",
        lambda one: not _resource("limits", "cpu")(one),
        "remove resources.limits.cpu: a throttled leader loses its lease",
    ),
    (
        "a user other than root",
        lambda one: one.security.get("runAsNonRoot"),
        "securityContext.runAsNonRoot: true",
    ),
    (
        "a read-only root file system",
        lambda one: one.security.get("readOnlyRootFilesystem"),
        "securityContext.readOnlyRootFilesystem: true, with an emptyDir at /tmp",
    ),
    (
        "no privilege escalation, no capabilities",
        lambda one: one.security.get("allowPrivilegeEscalation") is False and _drops_all(one),
        "securityContext: allowPrivilegeEscalation: false, capabilities: drop: [ALL]",
    ),
    (
        "a seccomp profile",
        lambda one: (one.security.get("seccompProfile") or {}).get("type") in ("RuntimeDefault", "Localhost"),
        "securityContext.seccompProfile.type: RuntimeDefault",
    ),
    (
        "a service account of its own",
        lambda one: one.pod.get("serviceAccountName", "default") != "default",
        "serviceAccountName: that of the roles",
    ),
    ("a fixed image tag or digest", _image_is_fixed, "use the tag of one release, or a digest"),
    (
        "enough time to shut down",
        _stops_in_time,
        "terminationGracePeriodSeconds: --shutdown-timeout and 8 s more",
    ),
    ("protected metrics", _has_a_guard, "args: --metrics-auth"),
    ("pods on different nodes", _is_spread, "topologySpreadConstraints, as in manifests/manager"),
    ("a network policy", lambda one: one.policies, "manifests/network-policy"),
    ("alerts", lambda one: one.alerts, "manifests/prometheus, or the command monitoring"),
)
