"""The official client, `kubernetes`."""

from __future__ import annotations

import pytest
from kubernetes import client, config, dynamic, watch

from handloop.apis.crd import custom_resource_definition
from handloop.controller.foo.types import Foo
from handloop.testing.running_sandbox import RunningSandbox


@pytest.fixture
def api(sandbox: RunningSandbox) -> client.ApiClient:
    """A client as its documentation makes it."""
    return config.new_client_from_config(str(sandbox.kubeconfig))


def test_objects_are_created_changed_and_deleted(api: client.ApiClient) -> None:
    """Models in, models out; a missing one is its ApiException."""
    core = client.CoreV1Api(api)
    metadata = client.V1ObjectMeta(name="settings")
    made = core.create_namespaced_config_map(
        "default", client.V1ConfigMap(metadata=metadata, data={"a": "1"})
    )
    assert made.metadata.uid
    core.patch_namespaced_config_map("settings", "default", {"data": {"b": "2"}})
    assert core.read_namespaced_config_map("settings", "default").data == {"a": "1", "b": "2"}
    assert [item.metadata.name for item in core.list_namespaced_config_map("default", limit=1).items]
    core.delete_namespaced_config_map("settings", "default")
    with pytest.raises(client.ApiException) as refused:
        core.read_namespaced_config_map("settings", "default")
    assert (refused.value.status, refused.value.reason) == (404, "Not Found")


def test_a_watch_sees_changes(api: client.ApiClient) -> None:
    """Watch.stream yields them as they come."""
    core = client.CoreV1Api(api)
    for name in ("one", "two"):
        core.create_namespaced_config_map("default", {"metadata": {"name": name}})
    stream = watch.Watch()
    seen = []
    for event in stream.stream(core.list_namespaced_config_map, "default", timeout_seconds=20):
        seen.append((event["type"], event["object"].metadata.name))
        if {("ADDED", "one"), ("ADDED", "two")} <= set(seen):
            stream.stop()
    assert ("ADDED", "two") in seen


def test_custom_resources_by_discovery(sandbox: RunningSandbox, api: client.ApiClient) -> None:
    """The dynamic client finds a CRD's kind and works with it."""
    sandbox.apply(custom_resource_definition(Foo))
    foos = dynamic.DynamicClient(api).resources.get(
        api_version="samplecontroller.k8s.io/v1alpha1", kind="Foo"
    )
    body = {
        "apiVersion": "samplecontroller.k8s.io/v1alpha1",
        "kind": "Foo",
        "metadata": {"name": "a"},
        "spec": {"deploymentName": "a", "replicas": 1},
    }
    foos.create(body=body, namespace="default")
    assert [item.metadata.name for item in foos.get(namespace="default").items] == ["a"]


def test_faults_reach_it(sandbox: RunningSandbox, api: client.ApiClient) -> None:
    """An error is its ApiException with the code."""
    core = client.CoreV1Api(api)
    with sandbox.faults.error(503, verbs=["list"]), pytest.raises(client.ApiException) as refused:
        core.list_namespaced_pod("default")
    assert refused.value.status == 503
