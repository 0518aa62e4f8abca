"""What the chosen controllers need of a cluster: their kinds and their access."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Final

from handloop.apis.meta import Kind
from handloop.controller.cli.controllers import access, kinds
from handloop.controller.cli.options import Options
from handloop.controller.runtime.election.lease_access import leader_election_access
from handloop.controller.runtime.rbac.access import Access
from handloop.controller.runtime.serving.metrics_auth import METRICS_AUTH_ACCESS

_COMMAND: Final = "python -m controller manifests rbac"


def declared_kinds(options: Options) -> tuple[type[Kind], ...]:
    """The kinds of ours that have to be installed."""
    return kinds(options.controllers)


def declared_access(options: Options) -> tuple[Access, ...]:
    """Everything that will be asked of the API server; the lease is in "" when its namespace is not given."""
    lease = leader_election_access(
        options.leader_elect_resource_name, options.leader_elect_resource_namespace
    )
    return (
        *access(options.controllers),
        *(lease if options.leader_elect else ()),
        *(METRICS_AUTH_ACCESS if options.metrics_auth else ()),
    )


def watched_namespaces(options: Options) -> tuple[str, ...]:
    """() = all of them."""
    return tuple(dict.fromkeys(name.strip() for name in options.namespace.split(",") if name.strip()))


def rbac_command(options: Options) -> str:
    """The `manifests rbac` that prints the roles for these options."""
    return " ".join([_COMMAND, *(word for name, value in _given(options) for word in _flag(name, value))])


def _given(options: Options) -> Iterator[tuple[str, Any]]:
    """Name and value of each option that changes the roles and is not what it is by default."""
    for field in fields(options):
        value = getattr(options, field.name)
        if "manifests" in field.metadata.get("commands", ()) and value != field.default:
            yield field.name, value


def _flag(name: str, value: object) -> list[str]:
    """One flag as it is typed."""
    if name == "namespace":
        return ["-n", shlex.quote(str(value))]
    flag = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        return [flag if value else f"{flag}=false"]
    words = ",".join(value) if isinstance(value, tuple) else str(value)
    return [f"{flag}={shlex.quote(words)}"]
