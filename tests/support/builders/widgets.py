"""The custom resource that contract tests use, and how it is defined."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from support.servers.api_server import Answer, APIServer, Object

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@dataclass(frozen=True)
class Widgets:
    """The custom resource in one namespace."""

    server: APIServer
    group: str
    namespace: str

    @property
    def api_version(self) -> str:
        """`group/v1`."""
        return f"{self.group}/v1"

    @property
    def path(self) -> str:
        """The collection."""
        return f"/apis/{self.group}/v1/namespaces/{self.namespace}/widgets"

    def new(self, name: str, *, metadata: Object | None = None, **spec: Any) -> Object:
        """A widget; size is 3 unless given."""
        return {
            "apiVersion": self.api_version,
            "kind": "Widget",
            "metadata": {"name": name, **(metadata or {})},
            "spec": {"size": 3, **spec},
        }

    def create(self, name: str, *, metadata: Object | None = None, **spec: Any) -> Answer:
        """Create a widget, which has to succeed."""
        answer = self.server.create(self.path, self.new(name, metadata=metadata, **spec))
        assert answer.status == 201, answer
        return answer


def wait_until_served(server: APIServer, group: str, plural: str, version: str = "v1") -> None:
    """Wait until a defined resource can be listed and is in discovery."""
    server.eventually(f"/apis/{group}/{version}/{plural}", lambda answer: answer.status == 200)
    server.eventually(
        f"/apis/{group}/{version}",
        lambda answer: any(entry["name"] == plural for entry in answer.body["resources"]),
    )


@contextmanager
def defined(server: APIServer, document: Object) -> Iterator[None]:
    """A definition that the server takes without a warning, served for as long as the context lasts."""
    created = server.create(CRDS, document)
    assert (created.status, created.warnings) == (201, []), created
    try:
        spec = document["spec"]
        wait_until_served(server, spec["group"], spec["names"]["plural"], spec["versions"][0]["name"])
        yield
    finally:
        # until it is gone, the next one of its name is refused
        path = f"{CRDS}/{document['metadata']['name']}"
        server.delete(path)
        server.eventually(path, lambda answer: answer.status == HTTPStatus.NOT_FOUND)


def definition(group: str, plural: str, kind: str, **spec: Any) -> Object:
    """A definition whose objects may hold anything, by default."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [version],
            **spec,
        },
    }


def widget_definition(group: str) -> Object:
    """A definition with everything: defaults, limits, rules, subresources, columns."""
    condition = {
        "type": "object",
        "required": ["type", "status"],
        "properties": {"type": {"type": "string"}, "status": {"type": "string"}},
    }
    spec = {
        "type": "object",
        "required": ["size"],
        "properties": {
            "size": {"type": "integer", "minimum": 1, "maximum": 100},
            "color": {"type": "string", "enum": ["red", "green", "blue"], "default": "red"},
            "replicas": {"type": "integer", "minimum": 0, "maximum": 500, "default": 1},
            "fixed": {
                "type": "string",
                "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "fixed is immutable"}],
            },
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "port": {"x-kubernetes-int-or-string": True},
            "ratio": {"type": "number"},
            "nested": {
                "type": "object",
                "default": {},
                "properties": {"mode": {"type": "string", "default": "auto"}},
            },
            "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        },
    }
    status = {
        "type": "object",
        "properties": {
            "phase": {"type": "string"},
            "replicas": {"type": "integer"},
            "selector": {"type": "string"},
            "conditions": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
                "items": condition,
            },
        },
    }
    schema = {"type": "object", "required": ["spec"], "properties": {"spec": spec, "status": status}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": ".status.selector",
            },
        },
        "selectableFields": [{"jsonPath": ".spec.color"}],
        "additionalPrinterColumns": [
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
            {"name": "Phase", "type": "string", "jsonPath": ".status.phase", "priority": 1},
        ],
    }
    names = {"plural": "widgets", "kind": "Widget", "shortNames": ["wdg"]}
    return definition(group, "widgets", "Widget", names=names, versions=[version])
