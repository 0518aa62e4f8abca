from __future__ import annotations

from dataclasses import replace

from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.storage.catalog import Catalog
from handloop_sandbox.wire.resource import GroupResource


def _deployments() -> Catalog:
    (deployments,) = [r for r in builtin_resources() if r.plural == "deployments"]
    old = replace(deployments, version="v1beta1")
    return Catalog((old, deployments), revision=7)


def test_resources_are_found_by_path_and_by_kind() -> None:
    """Group, version and plural find a resource, as do group, version and kind."""
    catalog = _deployments()
    found = catalog.find("apps", "v1", "deployments")
    assert found is not None
    assert catalog.by_kind("apps", "v1", "Deployment") is found
    assert catalog.find("apps", "v2", "deployments") is None
    assert catalog.by_kind("", "v1", "Deployment") is None
    assert catalog.revision == 7


def test_one_version_is_stored() -> None:
    """Whatever the order, the resource of the storage version stands for the collection."""
    stored = _deployments().storage(GroupResource("apps", "deployments"))
    assert stored is not None
    assert stored.version == "v1"
    assert _deployments().storage(GroupResource("", "other")) is None


def test_groups_and_versions_keep_their_order() -> None:
    """Groups and versions come in the order of the resources; the core group is not listed."""
    assert _deployments().versions("apps") == ("v1beta1", "v1")
    groups = Catalog(builtin_resources()).groups()
    assert "" not in groups
    assert "apps" in groups
    assert len(_deployments().in_group_version("apps", "v1")) == 1
