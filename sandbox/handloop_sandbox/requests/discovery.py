"""
The discovery documents, which list the served resources in one aggregated answer or group by group.

Follows: apiserver pkg/endpoints/discovery (aggregated, legacy.go, storageversionhash.go), and
apiextensions-apiserver pkg/apiserver/customresource_discovery_controller.go for the order of custom
resources.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from typing import Any

from handloop_sandbox.storage.catalog import Catalog
from handloop_sandbox.wire.resource import ServedResource, Subresource

Document = dict[str, Any]

MAJOR, MINOR, PATCH = "1", "36", "3"
_HEALTH = ("/healthz", "/livez", "/readyz")


def version_info() -> Document:
    """Return the `/version` document: the emulated Kubernetes version, with the suffix "+sandbox"."""
    return {
        "major": MAJOR,
        "minor": MINOR,
        "emulationMajor": MAJOR,
        "emulationMinor": MINOR,
        "minCompatibilityMajor": MAJOR,
        "minCompatibilityMinor": str(int(MINOR) - 1),
        "gitVersion": f"v{MAJOR}.{MINOR}.{PATCH}+sandbox",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "",
    }


def api_versions(catalog: Catalog, server_address: str) -> Document:
    """Return the `/api` document."""
    return {
        "kind": "APIVersions",
        "versions": list(catalog.versions("")),
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}],
    }


def api_group_list(catalog: Catalog) -> Document:
    """Return the `/apis` document."""
    groups = [_group(catalog, group) for group in catalog.groups()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def api_group(catalog: Catalog, group: str) -> Document | None:
    """Return the `/apis/<group>` document, or None if the group is not served."""
    if group not in catalog.groups():
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(catalog, group)}


def _group(catalog: Catalog, group: str) -> Document:
    versions = [
        {"groupVersion": f"{group}/{version}", "version": version} for version in catalog.versions(group)
    ]
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}


def api_resource_list(catalog: Catalog, group: str, version: str) -> Document | None:
    """Return the `/api/v1` or `/apis/<group>/<version>` document, or None if the version is not served."""
    resources = catalog.in_group_version(group, version)
    if not resources:
        return None
    found: Document = {"kind": "APIResourceList"}
    if group:
        found["apiVersion"] = "v1"
    found["groupVersion"] = resources[0].api_version
    found["resources"] = [entry for resource in resources for entry in _entries(resource)]
    return found


def _entries(resource: ServedResource) -> Iterable[Document]:
    yield _resource(resource)
    for sub in resource.subresources:
        yield _subresource(resource, sub)


def _resource(resource: ServedResource) -> Document:
    entry: Document = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if "list" in resource.verbs:
        entry["storageVersionHash"] = storage_version_hash(resource)
    return entry


def _subresource(resource: ServedResource, sub: Subresource) -> Document:
    entry: Document = {
        "name": f"{resource.plural}/{sub.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
    }
    if sub.version and (sub.group, sub.version) != (resource.group, resource.version):
        entry |= {"group": sub.group, "version": sub.version} if sub.group else {"version": sub.version}
    return {**entry, "kind": sub.kind, "verbs": list(sub.verbs)}


def storage_version_hash(resource: ServedResource) -> str:
    """Return a hash of eight bytes (in base64) that changes with the storage version."""
    text = f"{resource.group}/{resource.storage_version}/{resource.kind}"
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()


def aggregated(catalog: Catalog, *, core: bool, version: str = "v2") -> Document:
    """Return the `/api` (core) or `/apis` document as one APIGroupDiscoveryList."""
    groups = [""] if core else catalog.groups()
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": [_aggregated_group(catalog, group) for group in groups],
    }


def _aggregated_group(catalog: Catalog, group: str) -> Document:
    versions = []
    for version in catalog.versions(group):
        resources = catalog.in_group_version(group, version)
        if any(resource.custom for resource in resources):
            resources = tuple(sorted(resources, key=lambda resource: resource.plural))
        found = [_aggregated_resource(resource) for resource in resources]
        versions.append({"version": version, "resources": found, "freshness": "Current"})
    return {"metadata": {"name": group} if group else {}, "versions": versions}


def _aggregated_resource(resource: ServedResource) -> Document:
    entry: Document = {
        "resource": resource.plural,
        "responseKind": _response_kind(resource, None),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if resource.subresources:
        entry["subresources"] = [
            {"subresource": sub.name, "responseKind": _response_kind(resource, sub), "verbs": list(sub.verbs)}
            for sub in resource.subresources
        ]
    return entry


def _response_kind(resource: ServedResource, sub: Subresource | None) -> Document:
    """
    Return the responseKind.

    For a built-in kind, the group and version are "", unless a subresource specifies its own.
    """
    kind = resource.kind if sub is None else sub.kind
    if sub is not None and sub.version:
        return {"group": sub.group, "version": sub.version, "kind": kind}
    if resource.custom:
        return {"group": resource.group, "version": resource.version, "kind": kind}
    return {"group": "", "version": "", "kind": kind}


def root_paths(catalog: Catalog) -> Document:
    """Return the `/` document, which lists the server's paths."""
    paths = ["/api", "/apis", "/apis/", *_HEALTH, "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/version"]
    paths += [f"/api/{version}" for version in catalog.versions("")]
    for group in catalog.groups():
        paths += [f"/apis/{group}", *(f"/apis/{group}/{version}" for version in catalog.versions(group))]
    return {"paths": sorted(paths)}
