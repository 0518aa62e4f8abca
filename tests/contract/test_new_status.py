"""The status that a new object has by its CRD's default: which writes keep it, on each server."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Annotated, Any

import pytest

from handloop.apis.conditions import Condition
from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import APIStruct, Kind
from handloop.apis.schema_annotations import list_map
from support.builders.widgets import defined
from support.servers.api_server import APPLY, APIServer

GROUP = f"new{uuid.uuid4().hex[:8]}.contract.example.com"
NEW = {"observedGeneration": -1}
SEEN = {"observedGeneration": 1, "conditions": []}


class SiteStatus(APIStruct):
    """What a controller says."""

    observed_generation: int = 0
    conditions: Annotated[tuple[Condition, ...], list_map("type")] = ()


class SiteSpec(APIStruct):
    """What a user wants."""

    size: int = 0


class Site(Kind, group=GROUP, version="v1"):
    """A kind whose status says what was observed."""

    spec: SiteSpec = SiteSpec()
    status: SiteStatus = SiteStatus()


@pytest.fixture(scope="module")
def served(server: APIServer) -> Iterator[None]:
    """The kind is served."""
    with defined(server, custom_resource_definition(Site)):
        yield


@pytest.fixture
def sites(served: None, namespace: str) -> str:
    """The collection of a namespace."""
    return f"/apis/{GROUP}/v1/namespaces/{namespace}/sites"


def site(name: str, **fields: Any) -> dict[str, Any]:
    """An object."""
    return {"apiVersion": f"{GROUP}/v1", "kind": "Site", "metadata": {"name": name}, "spec": {}} | fields


def test_a_new_object_is_not_observed(server: APIServer, sites: str) -> None:
    """Created, applied, or only tried, and whatever status its author has given it; in lists, too."""
    for name, fields in (("none", {}), ("empty", {"status": {}}), ("given", {"status": SEEN})):
        tried = server.create(f"{sites}?dryRun=All", site(name, **fields))
        made = server.create(sites, site(name, **fields))
        assert (tried.body.get("status"), made.body["status"]) == (NEW, NEW), name
        assert server.get(f"{sites}/{name}").body["status"] == NEW
    applied = server.patch(f"{sites}/applied?fieldManager=me", site("applied"), APPLY)
    assert (applied.status, applied.body["status"]) == (201, NEW), applied
    assert [each["status"] for each in server.get(sites).body["items"]] == [NEW] * 4
    (mine,) = applied.body["metadata"]["managedFields"]
    assert "f:status" not in mine["fieldsV1"]


def test_a_change_keeps_what_was_observed(server: APIServer, sites: str) -> None:
    """An update without a status, a patch, an apply: the generation moves on, the status does not."""
    made = server.create(sites, site("a")).body
    changed = server.update(f"{sites}/a", made | {"spec": {"size": 1}, "status": {}}).body
    assert (changed["metadata"]["generation"], changed["status"]) == (2, NEW)
    told = server.update(f"{sites}/a/status", changed | {"status": {"observedGeneration": 2}}).body
    for size, (body, content_type) in enumerate(
        [({}, "application/merge-patch+json"), (site("a"), APPLY)], start=2
    ):
        path = f"{sites}/a?fieldManager=me&force=true" if content_type == APPLY else f"{sites}/a"
        told = server.patch(path, body | {"spec": {"size": size}}, content_type).body
        assert (told["metadata"]["generation"], told["status"]) == (size + 1, {"observedGeneration": 2})


def test_a_status_is_written_as_it_is(server: APIServer, sites: str) -> None:
    """One without the generation keeps none: the default is that of the whole status."""
    made = server.create(sites, site("a")).body
    empty = server.update(f"{sites}/a/status", made | {"status": {}}).body
    assert empty["status"] == {}
    none = server.update(f"{sites}/a/status", {k: v for k, v in empty.items() if k != "status"}).body
    assert none["status"] == NEW
    patched = server.patch(f"{sites}/a/status", {"status": {"conditions": []}}).body
    assert patched["status"] == NEW | {"conditions": []}
