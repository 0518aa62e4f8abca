"""Objects of every kind as a real server stores, encodes and tabulates them."""

from __future__ import annotations

import base64
import itertools
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from handloop.testing.eventually import eventually as until
from handloop_sandbox.kinds import protobuf
from handloop_sandbox.kinds.defaults import default_object
from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.kinds.typed import Report, decode
from handloop_sandbox.storage.catalog import Catalog
from handloop_sandbox.tables import table
from handloop_sandbox.wire.resource import ServedResource
from support.builders.builtin import builtin, builtin_kind
from support.builders.kind_samples import NAMESPACE, SAMPLES
from support.servers.real_server import RealServer, collection

Object = dict[str, Any]

TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
_LAST: Final = ("LimitRange", "ResourceQuota")
_SHARED: Final = ("Namespace", "Node")
SECONDS: Final = 30.0
MOST: Final = 6


def create_samples(server: RealServer) -> None:
    """Create every sample; quotas and limits last, for they change later objects."""
    found = [sample for sample in SAMPLES if sample["kind"] not in _SHARED]
    for sample in sorted(found, key=lambda sample: sample["kind"] in _LAST):
        path = collection(builtin_kind(sample["apiVersion"], sample["kind"]))
        answer = server.request("POST", path, sample)
        # events of both groups are one kind
        assert answer.status in {201, 409}, answer
    pods = collection(builtin("", "pods"))
    until(
        lambda: all(pod["status"]["phase"] != "Pending" for pod in _items(server, pods)[:5]),
        "running pods",
        seconds=SECONDS,
    )


def _items(server: RealServer, path: str) -> list[Object]:
    found: list[Object] = server.request("GET", path).json()["items"]
    return found


def delete_samples(server: RealServer) -> None:
    """Delete the objects that do not go with the namespace."""
    for sample in SAMPLES:
        resource = builtin_kind(sample["apiVersion"], sample["kind"])
        if not resource.namespaced and sample["kind"] not in _SHARED:
            server.request("DELETE", f"{collection(resource)}/{sample['metadata']['name']}")


def ask(server: RealServer) -> Iterator[Object]:
    """Lines for some objects of every kind: as JSON, as protobuf, and as a row of its table."""
    for resource in builtin_resources():
        # autoscaling/v1 does not carry all that its table shows
        if "list" in resource.verbs and resource.version == resource.storage_version:
            yield from _some(server, resource)


def _some(server: RealServer, resource: ServedResource) -> Iterator[Object]:
    path = collection(resource)
    found = rows(server, resource, path)
    shared = resource.namespaced or resource.kind == "Node"
    ours = (line for line in found if shared or NAMESPACE in name_of(line))
    for line in itertools.islice(ours, MOST):
        bytes_ = encoded(server, f"{path}/{name_of(line)}")
        after = server.request("GET", f"{path}/{name_of(line)}").json()
        if after["metadata"]["resourceVersion"] == line["object"]["metadata"]["resourceVersion"]:
            yield {**line, "protobuf": bytes_}


def name_of(line: Mapping[str, Any]) -> str:
    """The name of a line's object."""
    name: str = line["object"]["metadata"]["name"]
    return name


def rows(server: RealServer, resource: ServedResource, path: str) -> Iterator[Object]:
    """The lines of a table, without columns that differ from ours."""
    # in the middle of a second, so that every age is unambiguous
    until(lambda: 0.1 < time.time() % 1 < 0.6, "the middle of a second", seconds=SECONDS)
    now = int(time.time())
    answer = server.request("GET", f"{path}?includeObject=Object", accept=TABLE).json()
    columns = table.render(resource, [], now=now)["columnDefinitions"]
    assert answer["columnDefinitions"] == columns or tuple(resource.group_resource) not in table.CELLS, path
    for row in answer["rows"]:
        obj = row["object"]
        about = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
        kept = {"conditions": row["conditions"]} if "conditions" in row else {}
        named = {"group": resource.group, "version": resource.version, "plural": resource.plural}
        yield {**named, "now": now, "object": {**obj, "metadata": about}, "cells": row["cells"], **kept}


def encoded(server: RealServer, path: str) -> str:
    """The object at a path as protobuf, in base64."""
    answer = server.request("GET", path, accept=PROTOBUF)
    return base64.b64encode(answer.body).decode()


def resource_of(line: Mapping[str, Any]) -> ServedResource:
    """What a line is about."""
    return builtin(line["group"], line["plural"], line["version"])


def check_row(line: Mapping[str, Any]) -> None:
    """The sandbox shows the object of a line as the real server did."""
    answer = table.render(resource_of(line), [line["object"]], now=line["now"], include="Object")
    row = answer["rows"][0]
    assert row["cells"] == line["cells"], line
    assert row.get("conditions") == line.get("conditions"), line
    assert row["object"] == line["object"]


def check_protobuf(line: Mapping[str, Any]) -> None:
    """What the sandbox reads from a line's protobuf is the line's object."""
    resource = resource_of(line)
    mine = protobuf.decode(base64.b64decode(line["protobuf"]), Catalog(builtin_resources()))
    decoded = default_object(resource, decode(resource.schema or {}, mine, Report()))
    decoded["metadata"] = {k: v for k, v in decoded["metadata"].items() if k != "managedFields"}
    assert decoded == line["object"], line
