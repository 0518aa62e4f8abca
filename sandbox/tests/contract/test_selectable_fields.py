"""Fields that a definition lets select by are those of the version that is asked for."""

from __future__ import annotations

import uuid

from support.builders.widgets import CRDS, defined
from support.servers.api_server import MERGE, APIServer, Object


def _version(name: str, *fields: str, selectable: str, storage: bool = True) -> Object:
    spec = {"type": "object", "properties": {field: {"type": "string"} for field in fields}}
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
        "selectableFields": [{"jsonPath": f".spec.{selectable}"}],
    }


def test_selectors_see_the_version_that_is_asked_for(server: APIServer, namespace: str) -> None:
    """With the defaults of now, and in lists, watches and deletions of many alike."""
    group = f"f{uuid.uuid4().hex[:8]}.contract.example.com"
    old, new = (f"/apis/{group}/{name}/namespaces/{namespace}/gadgets" for name in ("v1beta1", "v1"))
    versions = [
        _version("v1", "size", "tier", selectable="tier"),
        _version("v1beta1", "size", selectable="size", storage=False),
    ]
    names = {"kind": "Gadget", "plural": "gadgets", "singular": "gadget", "listKind": "GadgetList"}
    document = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"gadgets.{group}"},
        "spec": {"group": group, "names": names, "scope": "Namespaced", "versions": versions},
    }
    with defined(server, document):
        for name, size in (("a", "s"), ("b", "m")):
            gadget = {"apiVersion": f"{group}/v1", "kind": "Gadget", "metadata": {"name": name}}
            assert server.create(new, {**gadget, "spec": {"size": size}}).status == 201
        fields = versions[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        fields["tier"]["default"] = "free"
        assert server.patch(f"{CRDS}/gadgets.{group}", {"spec": {"versions": versions}}, MERGE).status == 200
        server.eventually(f"{new}/a", lambda answer: answer.body["spec"].get("tier") == "free")
        by_tier = "fieldSelector=spec.tier%3Dfree"
        assert server.get(f"{new}?{by_tier}").names == ["a", "b"]
        assert server.get(f"{new}?{by_tier}&limit=1").names == ["a"]
        assert server.get(f"{new}?fieldSelector=spec.tier!%3Dfree").names == []
        assert server.get(f"{old}?fieldSelector=spec.size%3Ds").names == ["a"]
        refused = server.get(f"{old}?{by_tier}")
        assert (refused.status, refused.message.rpartition(": ")[2]) == (400, "spec.tier")
        assert server.get(f"{new}?fieldSelector=spec.size%3Ds").status == 400
        with server.watch(f"{new}?watch=1&timeoutSeconds=60&{by_tier}") as watch:
            seen = [event["object"]["metadata"]["name"] for event in watch.count(2)]
            server.patch(f"{new}/a", {"spec": {"tier": "gold"}}, MERGE)
            gone = watch.count(3)[2]
        assert (sorted(seen), gone["type"]) == (["a", "b"], "DELETED")
        assert server.request("DELETE", f"{new}?{by_tier}").status == 200
        server.eventually(new, lambda answer: answer.names == ["a"])
