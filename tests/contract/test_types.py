"""
Whatever type the CRD generator takes: the server's verdict on an object equals the decoder's.

An object that the server takes decodes as it is stored, and the server takes it. The types and values
are random; TYPES_SEED chooses others.
"""

from __future__ import annotations

import http.client
import json
import os
import types
import uuid
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

import msgspec
import pytest

from handloop.apis.crd import custom_resource_definition
from handloop.apis.crd_schema import object_schema
from handloop.apis.meta import Kind
from handloop.client.errors import DecodeError
from handloop.client.resource_client import Codec, codec_of
from support.builders.random_types import JUNK, Sample, samples, struct_of
from support.builders.widgets import defined
from support.servers.api_server import APIServer

_SEED: Final = int(os.environ.get("TYPES_SEED", "1"))
_TYPES: Final = (20, pytest.param(45, marks=pytest.mark.nightly))


class Asked:
    """One server, asked whether it would create an object, over one connection."""

    def __init__(self, server: APIServer, kind: type[Kind]) -> None:
        self._connection: http.client.HTTPConnection = server.endpoint.connect(60)
        self._headers = {"Content-Type": "application/json"}
        if server.endpoint.token:
            self._headers["Authorization"] = f"Bearer {server.endpoint.token}"
        self._resource = kind.resource

    def create(self, body: bytes) -> tuple[bool, bytes]:
        """Whether it is taken; and the object as it would be stored, or the error."""
        path = self._resource.path(namespace="default") + "?dryRun=All"
        self._connection.request("POST", path, body, self._headers)
        response = self._connection.getresponse()
        text = response.read()
        assert response.status in (201, 400, 422), text
        return response.status == 201, text

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _kind(group: str, types_: list[Sample]) -> type[Kind]:
    """A kind whose spec has a field of each type, f0, f1, ..., none of which must be there."""
    fields = {f"f{number}": sample.annotation | msgspec.UnsetType for number, sample in enumerate(types_)}
    spec = struct_of(fields, dict.fromkeys(fields, msgspec.UNSET))
    body = {"__annotations__": {"spec": spec}}
    return types.new_class(
        "Sampled", (Kind,), {"group": group, "version": "v1"}, lambda namespace: namespace.update(body)
    )


def _decodes(codec: Codec[Any], body: bytes) -> bool:
    try:
        codec.decode(body)
    except DecodeError:
        return False
    return True


def _disagreements(kind: type[Kind], drawn: list[Sample], ask: Asked) -> Iterator[str]:
    codec: Codec[Any] = codec_of(kind)
    head = {"apiVersion": kind.resource.api_version, "kind": "Sampled", "metadata": {"name": "s"}}
    schema = object_schema(kind)["properties"]["spec"]["properties"]
    for number, sample in enumerate(drawn):
        name = f"f{number}"
        for value in (sample.good, *sample.near, *JUNK):
            body = json.dumps({**head, "spec": {name: value}}).encode()
            is_taken, answer = ask.create(body)
            if is_taken != _decodes(codec, answer if is_taken else body):
                verdict = "taken, but does not decode" if is_taken else "refused, but decodes"
                yield f"{sample.annotation} {value!r}: {verdict}; {schema[name]}: {answer!r}"


@pytest.mark.parametrize("count", _TYPES)
def test_the_server_takes_what_decodes(server: APIServer, count: int) -> None:
    """Many types, with values near their bounds, and with values of other types."""
    group = f"t{uuid.uuid4().hex[:8]}.contract.example.com"
    drawn = samples(_SEED, count)
    kind = _kind(group, drawn)
    with defined(server, custom_resource_definition(kind)), closing(Asked(server, kind)) as ask:
        found = list(_disagreements(kind, drawn, ask))
    again = f"TYPES_SEED={_SEED} python -m pytest tests/contract/test_types.py"
    assert not found, "\n".join([*found[:9], f"{len(found)} in all; again: {again}"])
