from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.requests import discovery
from handloop_sandbox.storage.catalog import Catalog
from support.builders.builtin import builtin
from support.builders.thing import THINGS

_CATALOG = Catalog((*builtin_resources(), THINGS))


def _named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(entry for entry in entries if entry["name"] == name)


def test_the_version_is_marked_as_the_sandboxs() -> None:
    """Clients compare major and minor; the text shows that it is not the real one."""
    found = discovery.version_info()
    assert (found["major"], found["minor"]) == ("1", "36")
    assert found["gitVersion"].endswith("+sandbox")


def test_groups_and_versions() -> None:
    """The core group stands alone, the others are listed with the version that is preferred."""
    assert discovery.api_versions(_CATALOG, "127.0.0.1:1")["versions"] == ["v1"]
    groups = discovery.api_group_list(_CATALOG)["groups"]
    assert "" not in {group["name"] for group in groups}
    found = _named(groups, "autoscaling")
    assert [version["version"] for version in found["versions"]] == ["v2", "v1"]
    assert found["preferredVersion"] == {"groupVersion": "autoscaling/v2", "version": "v2"}
    one = discovery.api_group(_CATALOG, "autoscaling")
    assert one == {"kind": "APIGroup", "apiVersion": "v1", **found}
    assert discovery.api_group(_CATALOG, "nosuch.io") is None


def test_resources_of_a_version() -> None:
    """Subresources stand behind what they belong to, with the group of their kind if it is another."""
    found = discovery.api_resource_list(_CATALOG, "apps", "v1")
    assert found is not None
    assert (found["groupVersion"], found["apiVersion"]) == ("apps/v1", "v1")
    scale = _named(found["resources"], "deployments/scale")
    assert (scale["group"], scale["version"], scale["kind"]) == ("autoscaling", "v1", "Scale")
    deployments = _named(found["resources"], "deployments")
    assert (deployments["shortNames"], deployments["namespaced"]) == (["deploy"], True)
    core = discovery.api_resource_list(_CATALOG, "", "v1")
    assert core is not None
    assert "apiVersion" not in core
    assert discovery.api_resource_list(_CATALOG, "apps", "v9") is None


def test_aggregated_discovery_holds_it_all() -> None:
    """One document for the core group and one for all others; custom resources are among them."""
    core = discovery.aggregated(_CATALOG, core=True)
    assert core["kind"] == "APIGroupDiscoveryList"
    assert len(core["items"]) == 1
    others = discovery.aggregated(_CATALOG, core=False)
    names = [item["metadata"]["name"] for item in others["items"]]
    assert THINGS.group in names
    things = others["items"][names.index(THINGS.group)]["versions"][0]
    assert things["version"] == "v1"
    (resource,) = things["resources"]
    assert resource["responseKind"] == {"group": THINGS.group, "version": "v1", "kind": "Thing"}
    assert (resource["resource"], resource["scope"]) == ("things", "Namespaced")
    assert [sub["subresource"] for sub in resource["subresources"]] == ["status"]


@pytest.mark.parametrize("version", ["v2", "v2beta1"])
def test_the_version_of_aggregated_discovery_is_the_one_asked_for(version: str) -> None:
    """Older clients ask for the older one."""
    found = discovery.aggregated(_CATALOG, core=True, version=version)
    assert found["apiVersion"] == f"apidiscovery.k8s.io/{version}"


def test_storage_hashes_distinguish_collections() -> None:
    """The same for both versions of one collection, another for another."""
    first, second = (builtin("autoscaling", "horizontalpodautoscalers", version) for version in ("v1", "v2"))
    assert discovery.storage_version_hash(first) == discovery.storage_version_hash(second)
    assert discovery.storage_version_hash(first) != discovery.storage_version_hash(builtin("", "pods"))


def test_root_paths() -> None:
    """The resources that can be requested, sorted, with each group version once."""
    paths = discovery.root_paths(_CATALOG)["paths"]
    assert paths == sorted(set(paths))
    assert {"/api/v1", "/apis/apps", "/apis/apps/v1", f"/apis/{THINGS.group}/v1", "/healthz"} <= set(paths)
