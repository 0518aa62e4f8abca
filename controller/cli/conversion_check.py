"""Checks whether a server converts a kind's objects, and which old versions clients request."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from handloop.apis.meta import Kind
from handloop.apis.versions import is_converted, versions_of
from handloop.client.errors import ClientError
from handloop.client.options import ListOptions
from handloop.client.resource_client import Client
from handloop.controller.cli.definition_source import DEFINITIONS_PATH
from handloop.seams.clock import Clock

_WEBHOOK: Final = "Webhook"
_DEPRECATED: Final = "apiserver_requested_deprecated_apis{"
_LABEL: Final = re.compile(r'(\w+)="([^"]*)"')


class Conversion(NamedTuple):
    """The result of one check. problem is "" if conversion works, or if there is no object to try it with."""

    subject: str
    problem: str = ""


def conversions(client: Client, kind: type[Kind], clock: Clock) -> Iterator[Conversion]:
    """
    Check a kind's definition, and read one of its objects in each older version.

    A kind without conversion functions is not checked. Blocks: while it reads the definition, lists the
    kind, and reads one object per older version.
    """
    if not is_converted(kind):
        return
    name = kind.resource.group_resource
    try:
        definition = json.loads(client.get_raw(f"{DEFINITIONS_PATH}/{name}"))
        page = client.for_resource(kind.resource).list(options=ListOptions(limit=1))
    except ClientError as error:
        yield Conversion(f"{name}: could not be checked", str(error))
        return
    if problem := _problem_of(definition):
        yield Conversion(f"{name}: {problem}", problem)
        return
    if not page.items:
        yield Conversion(f"{name}: there is no object to try it with")
        return
    first = page.items[0].metadata
    for older in versions_of(kind)[1:]:
        began = clock.now()
        try:
            client.for_resource(older.resource).get(first.name, namespace=first.namespace)
        except ClientError as error:
            yield Conversion(f"{name}: not to {older.resource.version}", str(error))
        else:
            took = f"{(clock.now() - began) * 1000:.0f} ms"
            yield Conversion(f"{name}: an object was converted to {older.resource.version} in {took}")


def asked_for(client: Client, kinds: Iterable[type[Kind]]) -> Iterator[str]:
    """
    Yield the older versions that clients have requested since the server started.

    Each is a text such as `sites.example.org/v1beta1`. Yields nothing if the server's metrics cannot be read.
    Blocks: while it reads the server's metrics.
    """
    older = {each.resource for kind in kinds for each in versions_of(kind)[1:]}
    if not older:
        return
    try:
        page = client.get_raw("/metrics").decode(errors="replace")
    except ClientError:
        return
    asked = [dict(_LABEL.findall(line)) for line in page.splitlines() if line.startswith(_DEPRECATED)]
    found = {(labels.get("group"), labels.get("version"), labels.get("resource")) for labels in asked}
    yield from (str(each) for each in older if (each.group, each.version, each.plural) in found)


def _problem_of(definition: dict[str, Any]) -> str:
    spec = definition["spec"]
    if len(spec["versions"]) == 1:
        return ""
    conversion = spec.get("conversion") or {}
    if conversion.get("strategy") != _WEBHOOK:
        return "the definition has the conversion strategy None, so fields that move are lost"
    client = (conversion.get("webhook") or {}).get("clientConfig") or {}
    return (
        ""
        if client.get("caBundle")
        else "the definition has no caBundle yet: a replica of the program must write it"
    )
