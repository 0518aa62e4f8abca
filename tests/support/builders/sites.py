"""A custom resource in two versions: `spec.hostname` of v1 is `spec.host` of v1beta1."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from support.builders.widgets import CRDS, definition, wait_until_served
from support.servers.api_server import JSON_PATCH, Answer, APIServer, Object

FIELDS = {"v1": "hostname", "v1beta1": "host"}


@dataclass(frozen=True)
class Sites:
    """The custom resource in one namespace."""

    server: APIServer
    group: str
    namespace: str

    def path(self, version: str, *parts: str) -> str:
        """The collection, an object of it, or a subresource."""
        place = f"/apis/{self.group}/{version}/namespaces/{self.namespace}/sites"
        return "/".join((place, *parts))

    @property
    def definition(self) -> str:
        """The path of the definition."""
        return f"{CRDS}/sites.{self.group}"

    def new(self, version: str, name: str, *, metadata: Object | None = None, **spec: Any) -> Object:
        """A site."""
        return {
            "apiVersion": f"{self.group}/{version}",
            "kind": "Site",
            "metadata": {"name": name, **(metadata or {})},
            "spec": spec,
        }

    def create(self, version: str, name: str, *, metadata: Object | None = None, **spec: Any) -> Answer:
        """Create a site, which has to succeed."""
        answer = self.server.create(self.path(version), self.new(version, name, metadata=metadata, **spec))
        assert answer.status == 201, answer
        return answer

    def convert_by(self, conversion: Object) -> None:
        """Change how objects are converted."""
        change = [{"op": "replace", "path": "/spec/conversion", "value": conversion}]
        assert self.server.patch(self.definition, change, JSON_PATCH).status == 200

    def failure(self, version: str, told: str) -> str:
        """The message of a refusal because an object of a version could not be converted."""
        return f"conversion webhook for {self.group}/{version}, Kind=Site {told}"


def site_definition(group: str, conversion: Object, *, stored: str = "v1") -> Object:
    """The definition, which stores one of the versions."""
    versions = [_version(name, field, stored=name == stored) for name, field in FIELDS.items()]
    return definition(group, "sites", "Site", versions=versions, conversion=conversion)


def _version(name: str, field: str, *, stored: bool) -> Object:
    text, number = {"type": "string"}, {"type": "integer"}
    spec = {field: text, "other": text, "replicas": number, "size": {**number, "default": 3}}
    status = {"phase": text, "replicas": number}
    properties = {
        "spec": {"type": "object", "properties": spec},
        "status": {"type": "object", "properties": status},
    }
    return {
        "name": name,
        "served": True,
        "storage": stored,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
        },
        "selectableFields": [{"jsonPath": f".spec.{field}"}],
    }


@contextmanager
def defined_sites(
    server: APIServer, namespace: str, group: str, conversion: Object, *, stored: str = "v1"
) -> Iterator[Sites]:
    """
    Sites, in both versions, for as long as the context lasts.

    A definition whose webhook is down would keep every namespace of the cluster from being deleted.
    """
    created = server.create(CRDS, site_definition(group, conversion, stored=stored))
    assert created.status == 201, created
    sites = Sites(server, group, namespace)
    try:
        for version in FIELDS:
            wait_until_served(server, group, "sites", version)
        yield sites
    finally:
        server.patch(sites.definition, {"spec": {"conversion": {"strategy": "None", "webhook": None}}})
        server.delete(sites.definition)
