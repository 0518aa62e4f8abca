"""What a server stores without its zero, or spells otherwise: an apply at each resync sends it no more."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from handloop.apis.meta import Kind
from handloop.apis.resource import Resource
from handloop.apis.unstructured import Unstructured
from handloop.client.errors import NotFound
from handloop.client.http.response import Response
from handloop.client.resource_client import Client
from handloop.client.rest_client import Call
from handloop.controller.runtime.reconciling.context import Context
from handloop.informers.indexer import Indexer
from handloop.informers.keys import ObjectName
from handloop.informers.lister import Lister
from handloop.informers.selection import Labels
from handloop_sandbox.kinds.kind_table import ResourceEntry, resource_entries
from handloop_sandbox.kinds.structure import Shape, items_of, named, properties, shape_of, type_of, value_of
from support.servers.api_server import APIServer

_RESYNCS: Final = 100
_STRETCHES: Final = 4
_ENTRIES: Final = {(each.group, each.version, each.kind): each for each in resource_entries()}
_ZEROS: Final[Mapping[str, Any]] = {"string": "", "integer": 0, "number": 0, "boolean": False, "array": []}
_CHILDREN: Final = yaml.safe_load((Path(__file__).parent / "children.yaml").read_text(encoding="utf-8"))

# a zero of these is an order: a Pod on no node, a Job that is deleted once it has ended
_NO_ZEROS: Final = {"status", "metadata", "nodeName", "ttlSecondsAfterFinished"}

_Place = tuple[str | int, ...]


class Tools:
    """A context whose caches hold what the server has, and the writes that it sent."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.writes: list[str] = []
        self.context = Context(controller="zeros", client=client, listers=self, writes=self)
        self._cache: Indexer[Any] = Indexer()

    def resyncs(self, child: Kind) -> int:
        """Apply it a hundred times; the cache sees each write, and at times others'. Returns: the writes."""
        before, seen, there = len(self.writes), -1, child.metadata
        objects = self.client.resource(type(child))
        for resync in range(_RESYNCS):
            self.context.apply(child)
            if len(self.writes) != seen or resync % 20 == 0:
                seen = len(self.writes)
                self._cache.replace([objects.get(there.name, namespace=there.namespace)], "1")
        return len(self.writes) - before

    def sending(self, call: Call) -> None:
        """Implements the context's TrackedWrites, as do accepted, wrote and deleted."""

    def accepted(self, call: Call, _response: Response) -> None:
        self.writes.append(call.verb)

    def wrote(self, _obj: Kind) -> None:
        raise NotImplementedError

    deleted = wrote

    def lister_for(self, kind: type[Any], *, labels: Labels = "", fields: str = "") -> Lister[Any]:
        """Implements the context's Listers, as do listers_of and referred."""
        return Lister(self._cache, kind.resource)

    def listers_of(self, kind: type[Any]) -> Sequence[Lister[Any]]:
        return [self.lister_for(kind)]

    def referred(self, kind: type[Any], name: ObjectName, *, owner: ObjectName) -> Any:
        raise NotImplementedError


@pytest.fixture
def tools(client: Client) -> Tools:
    return Tools(client)


@pytest.mark.parametrize("sample", _CHILDREN, ids=[each["kind"] for each in _CHILDREN])
def test_a_hundred_resyncs_of_a_child_write_nothing(
    server: APIServer, tools: Tools, namespace: str, sample: dict[str, Any]
) -> None:
    """
    With every field at its zero that its server takes, beside what the sample says.

    Controllers of the cluster write meanwhile: so of four times a hundred one is without a write.
    """
    entry, obj = _entry(sample), copy.deepcopy(sample)
    if entry.namespaced:
        obj["metadata"]["namespace"] = namespace
    elif entry.kind != "CustomResourceDefinition":  # its name says its group
        obj["metadata"]["name"] += f"-{namespace}"
    place = Resource(entry.group, entry.version, entry.plural, entry.kind, entry.namespaced)
    kind = Unstructured.of_resource(place)
    child = kind.from_json(json.dumps(_with_zeros(server, place, obj, entry)).encode())
    try:
        writes = [tools.resyncs(child) for _ in range(_STRETCHES)]
        assert min(writes) == 0, writes
        assert sum(writes) <= _STRETCHES, writes
    finally:
        with suppress(NotFound):
            tools.client.resource(kind).delete(child.metadata.name, namespace=child.metadata.namespace)


def _entry(sample: Mapping[str, Any]) -> ResourceEntry:
    group, _, version = sample["apiVersion"].rpartition("/")
    return _ENTRIES[group, version, sample["kind"]]


def _with_zeros(
    server: APIServer, place: Resource, obj: dict[str, Any], entry: ResourceEntry
) -> dict[str, Any]:
    """The object and the zeros that the server takes with it: all, or those of each half."""
    path = place.path(namespace=obj["metadata"].get("namespace", ""), name=obj["metadata"]["name"])

    def takes(candidate: dict[str, Any]) -> bool:
        asked = f"{path}?fieldManager=zeros&fieldValidation=Strict&dryRun=All"
        return server.patch(asked, candidate, "application/apply-patch+yaml").status < 300

    def added(so_far: dict[str, Any], zeros: list[tuple[_Place, Any]]) -> dict[str, Any]:
        candidate = copy.deepcopy(so_far)
        for where, zero in zeros:
            _put(candidate, where, zero)
        if takes(candidate):
            return candidate
        if len(zeros) < 2:
            return so_far
        half = len(zeros) // 2
        return added(added(so_far, zeros[:half]), zeros[half:])

    assert takes(obj), obj
    return added(obj, list(_zeros(named(entry.schema), obj, ())))


def _zeros(schema: Mapping[str, Any], value: Any, where: _Place) -> Iterator[tuple[_Place, Any]]:
    """Each scalar, list and map that the schema has and the value has not."""
    if isinstance(value, list):
        items = items_of(schema) or {}
        for index, item in enumerate(value):
            yield from _zeros(items, item, (*where, index))
    elif isinstance(value, dict):
        for name, member in properties(schema).items():
            if name in value:
                yield from _zeros(member, value[name], (*where, name))
            elif name in _NO_ZEROS or shape_of(member) is not Shape.PLAIN:
                continue
            elif type_of(member) in _ZEROS:
                yield (*where, name), _ZEROS[type_of(member)]
            elif value_of(member) is not None:
                yield (*where, name), {}


def _put(obj: Any, where: _Place, zero: Any) -> None:
    for key in where[:-1]:
        obj = obj[key]
    obj[where[-1]] = copy.copy(zero)
