"""A kind gets a second version on a server that has objects of the first: one type reads them all."""

from __future__ import annotations

import json
import uuid
from typing import Any

from handloop.apis.compatibility.schema_changes import lost_paths
from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import APIStruct, Kind
from handloop.client.discovery import storage_hash
from handloop.client.resource_client import codec_of
from support.builders.widgets import defined
from support.servers.api_server import MERGE, APIServer

GROUP = f"vs{uuid.uuid4().hex[:8]}.contract.example.com"


class Status(APIStruct):
    """Of both."""

    ready: int = 0


class OldSpec(APIStruct):
    """With a default."""

    size: int = 3


class Old(Kind, group=GROUP, version="v1beta1", kind="Crate"):
    """The first version."""

    spec: OldSpec = OldSpec()
    status: Status = Status()


class Spec(APIStruct):
    """With two fields more, of which one has a default."""

    size: int = 3
    note: str = ""
    tier: str = "free"


class Crate(Kind, group=GROUP, version="v1", previous=Old):
    """The second."""

    spec: Spec = Spec()
    status: Status = Status()


def _crate(version: str, name: str, **spec: object) -> dict[str, object]:
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Crate", "metadata": {"name": name}, "spec": spec}


def test_a_kind_gets_a_second_version(server: APIServer, namespace: str) -> None:
    """Stored objects, writes in both versions, the warning, and what an old client does not know."""
    old, new = (f"/apis/{GROUP}/{version}/namespaces/{namespace}/crates" for version in ("v1beta1", "v1"))
    first = custom_resource_definition(Old)
    with defined(server, first):
        assert server.create(old, _crate("v1beta1", "a", size=5)).status == 201
        crd = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{first['metadata']['name']}"
        second = custom_resource_definition(Crate)["spec"]
        assert server.patch(crd, {"spec": {"versions": second["versions"]}}, MERGE).status == 200
        read = server.eventually(f"{new}/a", lambda answer: answer.status == 200)
        crate = codec_of(Crate).decode(json.dumps(read.body).encode())
        assert crate.spec == Spec(size=5)
        written = server.eventually(f"{old}/a", lambda answer: bool(answer.warnings))
        assert written.warnings == [f"{GROUP}/v1beta1 Crate is deprecated; use {GROUP}/v1"]
        assert server.create(old, _crate("v1beta1", "b")).status == 201
        of_new = server.get(f"{new}/b").body
        assert of_new["spec"] == {"size": 3, "tier": "free"}
        assert server.patch(f"{new}/b", {"spec": {"note": "n"}}, MERGE).status == 200
        assert server.patch(f"{old}/b", {"spec": {"size": 6}}, MERGE).status == 200
        after = server.get(f"{new}/b").body["spec"]
        assert after["size"] == 6
        assert "note" not in after, "a write by a client of the old version erases what it does not know"
        stored = server.get(crd).body["status"]["storedVersions"]
        assert stored == ["v1beta1", "v1"]


def test_a_status_written_in_the_old_version_erases_what_is_new(server: APIServer, namespace: str) -> None:
    """So a program that was rolled back is told which fields: from what every account may read."""
    old, new = (f"/apis/{GROUP}/{version}/namespaces/{namespace}/crates" for version in ("v1beta1", "v1"))
    with defined(server, custom_resource_definition(Crate)):
        assert server.create(new, _crate("v1", "a", note="n")).status == 201
        written = server.patch(f"{old}/a/status", {"status": {"ready": 1}}, MERGE)
        assert written.status == 200
        spec = server.get(f"{new}/a").body["spec"]
        assert spec == {"size": 3, "tier": "free"}
        listed = server.get(f"/apis/{GROUP}/v1beta1").body["resources"]
        assert listed[0]["storageVersionHash"] == storage_hash(Crate.resource)
        newest, ours = (_schema(server, kind) for kind in (Crate, Old))
        assert list(lost_paths(newest, ours)) == ["spec.note", "spec.tier"]


def _schema(server: APIServer, kind: type[Kind]) -> dict[str, Any]:
    """What OpenAPI says of it."""
    wanted = {"group": GROUP, "version": kind.resource.version, "kind": "Crate"}

    def found(body: Any) -> list[dict[str, Any]]:
        schemas = body["components"]["schemas"].values()
        return [each for each in schemas if wanted in each.get("x-kubernetes-group-version-kind", ())]

    path = f"/openapi/v3/apis/{GROUP}/{kind.resource.version}"
    answer = server.eventually(path, lambda answer: answer.status == 200 and bool(found(answer.body)))
    (schema,) = found(answer.body)
    return schema
