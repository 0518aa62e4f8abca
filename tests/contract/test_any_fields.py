"""A struct whose fields are not in the CRD: the part of it that each server keeps, and decoding errors."""

from __future__ import annotations

import json
import uuid
from typing import Annotated, Any

import pytest

from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import APIStruct, Kind
from handloop.apis.schema_annotations import ANY_FIELDS
from handloop.client.errors import DecodeError
from handloop.client.resource_client import codec_of
from handloop.kinds.core_v1 import PodTemplateSpec
from support.builders.widgets import defined
from support.servers.api_server import APIServer

GROUP = f"any{uuid.uuid4().hex[:8]}.contract.example.com"
TEMPLATE = {"spec": {"containers": [{"name": "a", "image": "a:1"}]}}


class BackupSpec(APIStruct):
    """What a user wants."""

    template: Annotated[PodTemplateSpec, ANY_FIELDS]


class Backup(Kind, group=GROUP, version="v1"):
    """A kind with a pod template."""

    spec: BackupSpec


def backup(name: str, template: dict[str, Any]) -> dict[str, Any]:
    """An object."""
    names = {"apiVersion": f"{GROUP}/v1", "kind": "Backup", "metadata": {"name": name}}
    return {**names, "spec": {"template": template}}


def test_the_server_keeps_what_stands_there_and_the_decoder_checks_it(
    server: APIServer, namespace: str
) -> None:
    """Known and unknown fields; a misfit is taken, too, and a text in place of the struct is not."""
    path = f"/apis/{GROUP}/v1/namespaces/{namespace}/backups"
    with defined(server, custom_resource_definition(Backup)):
        kept = server.create(path, backup("a", {**TEMPLATE, "later": {"x": [1]}}))
        assert (kept.status, kept.body["spec"]["template"]["later"]) == (201, {"x": [1]})
        found = codec_of(Backup).decode(json.dumps(kept.body).encode())
        assert found.spec.template.spec is not None
        assert found.spec.template.spec.containers[0].image == "a:1"
        misfit = server.create(path, backup("b", {"spec": {"containers": 5}}))
        assert misfit.status == 201
        with pytest.raises(DecodeError):
            codec_of(Backup).decode(json.dumps(misfit.body).encode())
        refused = backup("c", {})
        refused["spec"]["template"] = "a"
        assert server.create(path, refused).status == 422
