"""lightkube."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lightkube import ApiError, Client, KubeConfig
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ConfigMap

from handloop.testing.running_sandbox import RunningSandbox


@pytest.fixture
def client(sandbox: RunningSandbox) -> Iterator[Client]:
    """A client as its documentation makes it."""
    made = Client(config=KubeConfig.from_file(str(sandbox.kubeconfig)), field_manager="test")
    yield made
    made._client._client.close()


def test_objects_are_created_changed_and_deleted(client: Client) -> None:
    """Create, patch, get, list and delete; a missing one is its ApiError."""
    client.create(ConfigMap(metadata=ObjectMeta(name="settings", namespace="default"), data={"a": "1"}))
    client.patch(ConfigMap, "settings", {"data": {"b": "2"}})
    assert client.get(ConfigMap, "settings").data == {"a": "1", "b": "2"}
    assert "settings" in [item.metadata.name for item in client.list(ConfigMap, namespace="default")]
    client.delete(ConfigMap, "settings")
    with pytest.raises(ApiError) as refused:
        client.get(ConfigMap, "settings")
    assert refused.value.status.code == 404


def test_server_side_apply(client: Client) -> None:
    """Applied twice it is the same object, with the fields it owns."""
    wanted = ConfigMap(
        apiVersion="v1", kind="ConfigMap", metadata=ObjectMeta(name="a", namespace="default"), data={"k": "v"}
    )
    first, second = client.apply(wanted), client.apply(wanted)
    assert first.metadata.resourceVersion == second.metadata.resourceVersion
    assert first.metadata.managedFields[0].manager == "test"


def test_a_watch_sees_changes(client: Client) -> None:
    """watch() yields them as they come."""
    for name in ("one", "two"):
        client.create(ConfigMap(metadata=ObjectMeta(name=name, namespace="default")))
    seen = set()
    for kind, obj in client.watch(ConfigMap, namespace="default", server_timeout=20):
        seen.add((kind, obj.metadata.name))
        if {("ADDED", "one"), ("ADDED", "two")} <= seen:
            break
    assert ("ADDED", "two") in seen


def test_faults_reach_it(sandbox: RunningSandbox, client: Client) -> None:
    """A conflict is its ApiError with the code."""
    client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
    with sandbox.faults.conflict(), pytest.raises(ApiError) as refused:
        client.patch(ConfigMap, "a", {"data": {"b": "2"}})
    assert refused.value.status.code == 409
