"""docs/webhooks.md: what a real server does about webhooks, and about objects that are stored already."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from handloop.testing.eventually import eventually
from support.builders.widgets import CRDS, defined, definition
from support.servers.api_server import APIServer, Object

pytestmark = pytest.mark.parametrize(
    "server", [pytest.param("real", marks=pytest.mark.real)], indirect=True, ids=["real"]
)
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
NOBODY = {"url": "https://127.0.0.1:1/"}


def boxes(group: str, **size: Any) -> Object:
    """A definition whose spec has a size with that schema, and then also a field with a default."""
    document = definition(group, "boxes", "Box")
    fields = {"size": {"type": "integer", **size}, "note": {"type": "string"}}
    if size:
        fields["shape"] = {"type": "string", "default": "round"}
    spec = {"type": "object", "properties": fields}
    status = {"type": "object", "properties": {"seen": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    document["spec"]["versions"][0] |= {"schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}}}
    return document


class Boxes:
    """A kind of its own, and one object that was stored before anything was demanded."""

    def __init__(self, server: APIServer, group: str, namespace: str) -> None:
        self.server = server
        self.group = group
        self.crd = f"{CRDS}/boxes.{group}"
        self.path = self.version("v1", namespace)
        assert self.create("old") == 201

    def version(self, version: str, namespace: str) -> str:
        """The path of its objects in a version."""
        return f"/apis/{self.group}/{version}/namespaces/{namespace}/boxes"

    def create(self, name: str, *, dry_run: bool = False) -> int:
        """The status of the answer to a create; of a dry run nothing stays, whatever the server knew."""
        box = {"apiVersion": f"{self.group}/v1", "kind": "Box", "metadata": {"name": name}}
        path = f"{self.path}?dryRun=All" if dry_run else self.path
        return self.server.create(path, box | {"spec": {"size": 50}}).status

    def patch(self, body: Object, subresource: str = "") -> int:
        """The status of the answer to a patch of the old object."""
        return self.server.patch(f"{self.path}/old{subresource}", body).status


@pytest.fixture
def stored(server: APIServer, namespace: str) -> Iterator[Boxes]:
    """An object that is stored."""
    group = f"hooks{uuid.uuid4().hex[:8]}.contract.example.com"
    with defined(server, boxes(group)):
        yield Boxes(server, group, namespace)


@contextmanager
def webhook_that_is_down(stored: Boxes, policy: str) -> Iterator[None]:
    """The server calls it for creates and updates of boxes."""
    rule = {"apiGroups": [stored.group], "apiVersions": ["*"], "resources": ["boxes"]}
    webhook = {
        "name": f"size.{stored.group}",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": policy,
        "clientConfig": NOBODY,
        "rules": [rule | {"operations": ["CREATE", "UPDATE"]}],
    }
    created = stored.server.create(HOOKS, {"metadata": {"name": stored.group}, "webhooks": [webhook]})
    assert created.status == 201, created
    try:
        yield
    finally:
        stored.server.delete(f"{HOOKS}/{stored.group}")


def test_a_webhook_is_not_asked_about_reads_other_resources_and_deletions(stored: Boxes) -> None:
    """It is down and its policy is Fail: what passes was not sent to it."""
    with webhook_that_is_down(stored, "Fail"):
        eventually(lambda: stored.patch({"metadata": {"labels": {"a": "b"}}}) == 500, "refused")
        assert stored.patch({"metadata": {"finalizers": None}}) == 500
        assert stored.create("new", dry_run=True) == 500
        assert stored.server.get(f"{stored.path}/old").status == 200
        assert stored.patch({"status": {"seen": 1}}, "/status") == 200
        assert stored.server.delete(f"{stored.path}/old").status == 200


def test_a_webhook_that_may_be_ignored_lets_everything_pass(stored: Boxes) -> None:
    """The server's policy for what nobody answers."""
    with webhook_that_is_down(stored, "Fail"):
        eventually(lambda: stored.create("new", dry_run=True) == 500, "refused")
        stored.server.patch(
            f"{HOOKS}/{stored.group}",
            [{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}],
            "application/json-patch+json",
        )
        eventually(lambda: stored.create("new", dry_run=True) == 201, "let through")


def test_a_new_schema_gives_stored_objects_its_defaults_and_not_its_bounds(stored: Boxes) -> None:
    """A write that leaves the old value alone passes, one that changes it has to obey."""
    versions = boxes(stored.group, maximum=10)["spec"]["versions"]
    assert stored.server.patch(stored.crd, {"spec": {"versions": versions}}).status == 200
    box = stored.server.eventually(f"{stored.path}/old", lambda answer: "shape" in answer.body["spec"])
    assert box.body["spec"] == {"size": 50, "shape": "round"}
    assert stored.patch({"spec": {"note": "kept"}}) == 200
    assert stored.patch({"spec": {"size": 40}}) == 422


def test_a_conversion_webhook_that_is_down_takes_reads_away(stored: Boxes, namespace: str) -> None:
    """Only the version in which an object is stored can be read."""
    document = boxes(stored.group)["spec"]
    first = document["versions"][0] | {"storage": False}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": NOBODY}
    changed = {
        "versions": [first, first | {"name": "v2", "storage": True}],
        "conversion": {"strategy": "Webhook", "webhook": webhook},
    }
    assert stored.server.patch(stored.crd, {"spec": changed}).status == 200
    second = f"{stored.version('v2', namespace)}/old"
    stored.server.eventually(second, lambda answer: answer.status == 500)
    assert stored.server.get(f"{stored.path}/old").status == 200
    assert stored.server.delete(second).status == 500
    assert stored.server.patch(stored.crd, {"spec": {"conversion": {"strategy": "None", "webhook": None}}})
    stored.server.eventually(second, lambda answer: answer.status == 200)
