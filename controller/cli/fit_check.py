"""Checks whether a server's definitions fit a program's types, using the server's OpenAPI v3."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from handloop.apis.class_attributes import has_status_subresource
from handloop.apis.compatibility.finding import Finding
from handloop.apis.compatibility.fit import in_words, misfits, misfits_of_view
from handloop.apis.compatibility.schema_changes import lost_paths
from handloop.apis.crd_schema import object_schema
from handloop.apis.declaration import is_built_in
from handloop.apis.resource import Resource
from handloop.client.errors import APIError, ClientError, NoKindMatch, NotFound
from handloop.client.published_schema import PublishedSchemas
from handloop.client.resource_client import Client
from handloop.controller.cli.operator import Operator
from handloop.controller.cli.problems import Problem, misfit
from handloop.seams.clock import Clock
from handloop.seams.logs import in_words as error_in_words

SETTLE_SECONDS: Final = 1.0
"""
A server may publish a changed definition's old schema for this long. A kind that does not fit is checked
again after this time.
"""
_MOST_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Fit:
    """
    Whether the definition of a kind on the server fits the kind's type.

    newer lists the fields of the definition that the type lacks, but only for the program's own kinds.
    unknown says why the fit could not be determined; otherwise it is "".
    """

    kind: type[Any]
    is_ours: bool
    misfits: tuple[Finding, ...] = ()
    newer: tuple[str, ...] = ()
    unknown: str = ""

    @property
    def resource(self) -> Resource:
        """The kind's names."""
        resource: Resource = self.kind.resource
        return resource

    @property
    def places(self) -> str:
        """The fields that do not fit, on one line."""
        places = [each.path or each.rule for each in self.misfits]
        more = f", and {len(places) - _MOST_SHOWN} more" if len(places) > _MOST_SHOWN else ""
        return ", ".join(places[:_MOST_SHOWN]) + more

    def problem(self, operator: Operator) -> Problem | None:
        """Return E20, or None if the kind fits, is unknown, or lacks just the status subresource (E08)."""
        if all(each.rule == "no-status" for each in self.misfits):
            return None
        return misfit(str(self.resource), [*in_words(self.misfits)], self._fixes(operator))

    def _fixes(self, operator: Operator) -> Iterator[str]:
        if self.is_ours:
            yield f"{operator.crd_command} | kubectl apply -f -"
            if self.newer:
                yield f"or run a newer program release: the definition also has {', '.join(self.newer)}"
        elif is_built_in(self.resource.group):
            yield "run a program release that supports this version of Kubernetes, or upgrade the cluster"
        else:
            yield f"install the release of {self.resource.group_resource} that the program supports"


def looked_at(
    client: Client,
    ours: Iterable[type[Any]],
    others: Iterable[type[Any]],
    clock: Clock,
    stop: threading.Event,
) -> list[Fit]:
    """
    Check whether each kind fits. The program's own kinds come first in the result.

    A kind that does not fit is checked again after SETTLE_SECONDS.

    Blocks: during one request for each group and version. If a kind does not fit, also for SETTLE_SECONDS and
    during the repeated requests. Raises: nothing. If a check fails, the Fit's unknown says why.
    """
    kinds = {**dict.fromkeys(others, False), **dict.fromkeys(ours, True)}
    found = _look(client, kinds)
    doubtful = {fit.kind: fit.is_ours for fit in found.values() if fit.misfits}
    if doubtful and not clock.sleep(SETTLE_SECONDS, stop):
        found |= _look(client, doubtful)
    return sorted(found.values(), key=lambda fit: not fit.is_ours)


def _look(client: Client, kinds: Mapping[type[Any], bool]) -> dict[type[Any], Fit]:
    found: dict[type[Any], Fit] = {}
    for place in dict.fromkeys(map(_place, kinds)):
        found |= _look_in(place, client, {kind: kinds[kind] for kind in kinds if _place(kind) == place})
    return found


def _place(kind: type[Any]) -> tuple[str, str]:
    return kind.resource.group, kind.resource.version


def _look_in(place: tuple[str, str], client: Client, kinds: Mapping[type[Any], bool]) -> dict[type[Any], Fit]:
    """
    Check the kinds of one group and version.

    The OpenAPI document of this group and version is freed before the next document is requested.
    """
    try:
        published = PublishedSchemas.fetch(client, *place)
    except ClientError as error:
        return {kind: Fit(kind, is_ours, unknown=_reason(error)) for kind, is_ours in kinds.items()}
    return {kind: _held(kind, published, is_ours=is_ours) for kind, is_ours in kinds.items()}


def _reason(error: ClientError) -> str:
    if isinstance(error, (NoKindMatch, NotFound)):
        return "the server does not (yet) publish OpenAPI v3 for it"
    if isinstance(error, APIError):
        return f"the server answered {error.code} to the request for OpenAPI v3: {error.status.message}"
    return error_in_words(error)


def _held(kind: type[Any], published: PublishedSchemas, *, is_ours: bool) -> Fit:
    try:
        schema = object_schema(kind, defaults=is_ours)
        served = published.find(kind.resource, schema)
        if served is None:
            return Fit(kind, is_ours, unknown="the server's OpenAPI v3 does not (yet) contain the kind")
        if not is_ours:
            return Fit(kind, is_ours, tuple(misfits_of_view(schema, served.schema)))
        absent = [name for name in _subresources(kind) if name not in served.subresources]
        found = misfits(schema, served.schema, absent)
        return Fit(kind, is_ours, tuple(found), tuple(lost_paths(served.schema, schema)))
    except Exception as error:  # noqa: BLE001 - a bad published schema, or a type without one, stops no start
        return Fit(kind, is_ours, unknown=error_in_words(error))


def _subresources(kind: type[Any]) -> Sequence[str]:
    has_scale = getattr(kind, "scale", None) is not None
    return [*(["status"] if has_status_subresource(kind) else []), *(["scale"] if has_scale else [])]
