"""A kind gets a second version on a server that has objects of the first: one type reads them all."""

from __future__ import annotations

import json
import uuid

from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import APIStruct, Kind
from handloop.client.resource_client import codec_of
from support.builders.widgets import defined
from support.servers.api_server import MERGE, APIServer

GROUP = f"vs{uuid.uuid4().hex[:8]}.contract.example.com"


class OldSpec(APIStruct):
    """With a default."""

    size: int = 3


class Old(Kind, group=GROUP, version="v1beta1", kind="Crate"):
    """The first version."""

    spec: OldSpec = OldSpec()


class Spec(APIStruct):
    """With two fields more, of which one has a default."""

    size: int = 3
    note: str = ""
    tier: str = "free"


class Crate(Kind, group=GROUP, version="v1", previous=Old):
    """The second."""

    spec: Spec = Spec()


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
