from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.requests import openapi
from handloop_sandbox.storage.catalog import Catalog
from support.builders.builtin import builtin
from support.builders.thing import THINGS

_CATALOG = Catalog((*builtin_resources(), THINGS))
_THINGS_PATH = f"apis/{THINGS.group}/v1"


def _document(path: str, catalog: Catalog = _CATALOG) -> Any:
    found = openapi.document(catalog, path)
    assert found is not None
    return json.loads(found)


def _hash(catalog: Catalog, path: str) -> str:
    url: str = openapi.index(catalog)["paths"][path]["serverRelativeURL"]
    return url.partition("?hash=")[2]


def test_the_index_names_every_group_version() -> None:
    """By its path, with a URL that changes when the document does."""
    paths = openapi.index(_CATALOG)["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/autoscaling/v2", _THINGS_PATH} <= set(paths)
    assert paths["api/v1"]["serverRelativeURL"].startswith("/openapi/v3/api/v1?hash=")
    assert openapi.document(_CATALOG, "apis/nosuch.io/v1") is None


def test_a_hash_follows_the_schema() -> None:
    """Another schema of one group changes the hash of that group and of no other."""
    other = Catalog((*builtin_resources(), replace(THINGS, schema={"type": "object"})))
    assert _hash(other, _THINGS_PATH) != _hash(_CATALOG, _THINGS_PATH)
    assert _hash(other, "apis/apps/v1") == _hash(_CATALOG, "apis/apps/v1")


def test_kubectl_finds_what_it_looks_for() -> None:
    """The patch of a kind takes fieldValidation and names its kind."""
    paths = _document("apis/apps/v1")["paths"]
    patch = paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert {"fieldValidation", "dryRun", "fieldManager", "force"} <= {p["name"] for p in patch["parameters"]}
    kind = {"group": "apps", "version": "v1", "kind": "Deployment"}
    assert patch["x-kubernetes-group-version-kind"] == kind


def test_schemas_are_named_and_complete() -> None:
    """Every reference leads to a schema of the same document; a schema names its kind."""
    text = json.dumps(_document("apis/apps/v1"))
    schemas = json.loads(text)["components"]["schemas"]
    used = {part.partition('"')[0] for part in text.split('"#/components/schemas/')[1:]}
    assert used <= set(schemas)
    name = openapi.schema_name(builtin("apps", "deployments"))
    assert name == "io.k8s.api.apps.v1.Deployment"
    assert {"group": "apps", "version": "v1", "kind": "Deployment"} in schemas[name][
        "x-kubernetes-group-version-kind"
    ]


def test_custom_resources_are_described_by_their_schema() -> None:
    """Under the reversed name of the group, with apiVersion, kind and metadata besides."""
    schemas = _document(_THINGS_PATH)["components"]["schemas"]
    name = openapi.schema_name(THINGS)
    assert name.endswith(".v1.Thing")
    assert name.split(".")[0] == THINGS.group.split(".")[-1]
    properties = schemas[name]["properties"]
    assert {"apiVersion", "kind", "metadata", "spec", "status"} <= set(properties)
    assert properties["spec"]["properties"]["a"] == {"type": "integer"}
