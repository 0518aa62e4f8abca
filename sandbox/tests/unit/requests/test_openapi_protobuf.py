from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.requests import openapi, openapi_protobuf, openapi_v2
from handloop_sandbox.storage.catalog import Catalog
from support.builders.thing import THINGS

_CATALOG = Catalog((*builtin_resources(), THINGS))


def _read(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message: numbers, or the bytes of texts, messages and doubles."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        if tag & 7 == 0:
            value, position = _varint(data, position)
            yield tag >> 3, value
            continue
        size, position = (8, position) if tag & 7 == 1 else _varint(data, position)
        assert position + size <= len(data)
        yield tag >> 3, data[position : position + size]
        position += size


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position


def _at(data: bytes, *numbers: int) -> list[Any]:
    """What stands at a path of field numbers."""
    found: list[Any] = [data]
    for number in numbers:
        found = [value for outer in found for key, value in _read(outer) if key == number]
    return found


def _entries(data: bytes, *numbers: int) -> dict[str, bytes]:
    """The named entries of a map at a path."""
    return {_at(entry, 1)[0].decode(): _at(entry, 2)[0] for entry in _at(data, *numbers)}


def test_version_2() -> None:
    """Kubectl finds the parameters of a patch by its kind, and the definition of each kind."""
    text = openapi_v2.document(_CATALOG)
    document = json.loads(text)
    found = openapi_protobuf.version_2(text)
    assert _at(found, 1) == [b"2.0"]
    paths = _entries(found, 8, 2)
    assert list(paths) == list(document["paths"])
    patch = _at(paths["/api/v1/namespaces/{name}"], 8)[0]
    kind = json.loads(_at(_entries(patch, 13)["x-kubernetes-group-version-kind"], 2)[0])
    assert kind == {"group": "", "version": "v1", "kind": "Namespace"}
    queries = _at(patch, 8, 1, 2, 3, 4)
    assert queries == [b"dryRun", b"fieldManager", b"fieldValidation", b"force"]
    assert _at(patch, 8, 1, 1, 2) == [b"body"]
    definitions = _entries(found, 9, 1)
    assert list(definitions) == list(document["definitions"])
    pod = definitions["io.k8s.api.core.v1.Pod"]
    assert _at(pod, 22, 1) == [b"object"]
    assert _at(_entries(pod, 25, 1)["spec"], 1) == [b"#/definitions/io.k8s.api.core.v1.PodSpec"]


def test_version_3() -> None:
    """Schemas are alternatives of schema and reference; a default has the form of its type."""
    text = openapi.document(_CATALOG, "api/v1")
    assert text is not None
    found = openapi_protobuf.version_3(text)
    schemas = _entries(found, 5, 1, 1)
    assert list(schemas) == list(json.loads(text)["components"]["schemas"])
    port = _entries(_at(schemas["io.k8s.api.core.v1.ContainerPort"], 1)[0], 31, 1)
    assert _at(port["protocol"], 1, 33, 3) == [b"TCP"]
    items = _entries(_at(schemas["io.k8s.api.core.v1.PodList"], 1)[0], 31, 1)["items"]
    assert _at(items, 1, 30, 1, 1, 26, 2, 1) == [b"#/components/schemas/io.k8s.api.core.v1.Pod"]
    patch = _at(_entries(found, 4, 1)["/api/v1/namespaces/{name}"], 10)[0]
    assert b"fieldValidation" in _at(patch, 6, 1, 1)
    assert "application/apply-patch+yaml" in _entries(patch, 7, 1, 2, 1)
