"""Events, services and pod templates."""

from __future__ import annotations

import msgspec

from handloop.apis.core_v1 import (
    Container,
    ContainerPort,
    EnvVar,
    EnvVarSource,
    Event,
    EventSource,
    KeySelector,
    ObjectReference,
    ResourceAmounts,
    ResourceRequirements,
    Service,
    ServicePort,
    ServiceSpec,
)
from handloop.apis.meta import FrozenMap, ObjectMeta, decode_hook


def test_an_event_survives_the_wire() -> None:
    """A written object is read back the same, with the server's field names."""
    event = Event(
        metadata=ObjectMeta(name="foo.1", namespace="default"),
        involved_object=ObjectReference(api_version="v1", kind="Pod", name="a", uid="u", field_path="spec"),
        reason="Synced",
        message="done",
        type="Normal",
        source=EventSource(component="sample-controller", host="here"),
        first_timestamp="2026-01-01T00:00:00Z",
        last_timestamp="2026-01-01T00:00:01Z",
        count=2,
        reporting_component="sample-controller",
    )
    body = msgspec.json.encode(event)
    sent = msgspec.json.decode(body)
    assert sent["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "a",
        "uid": "u",
        "fieldPath": "spec",
    }
    assert (sent["kind"], sent["apiVersion"], sent["count"]) == ("Event", "v1", 2)
    assert (sent["firstTimestamp"], sent["reportingComponent"]) == (
        "2026-01-01T00:00:00Z",
        "sample-controller",
    )
    assert msgspec.json.decode(body, type=Event, dec_hook=decode_hook) == event


def test_timestamps_of_the_newer_api_are_null() -> None:
    """Events made through events.k8s.io have no first and last timestamp here."""
    sent = b'{"metadata": {"name": "a"}, "firstTimestamp": null, "lastTimestamp": null, "reason": "x"}'
    event = msgspec.json.decode(sent, type=Event, dec_hook=decode_hook)
    assert event.first_timestamp is None
    assert event.reason == "x"


def test_a_container_of_the_server_is_read() -> None:
    """Ports, variables with each kind of source, and amounts; a source without a type is left out."""
    sent = b"""{"name": "app", "image": "a:1", "imagePullPolicy": "Always",
     "ports": [{"name": "http", "containerPort": 80, "protocol": "TCP"},
      {"containerPort": 53, "protocol": "UDP"}],
     "env": [{"name": "A", "value": "x"},
      {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
      {"name": "C", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}],
     "resources": {"limits": {"cpu": "1", "nvidia.com/gpu": "1"}, "requests": {"memory": "1Gi"}}}"""
    assert msgspec.json.decode(sent, type=Container) == Container(
        name="app",
        image="a:1",
        ports=(
            ContainerPort(name="http", container_port=80),
            ContainerPort(container_port=53, protocol="UDP"),
        ),
        env=(
            EnvVar(name="A", value="x"),
            EnvVar(name="B", value_from=EnvVarSource(secret_key_ref=KeySelector(name="s", key="k"))),
            EnvVar(name="C", value_from=EnvVarSource()),
        ),
        resources=ResourceRequirements(
            limits=ResourceAmounts(cpu="1"), requests=ResourceAmounts(memory="1Gi")
        ),
    )


def test_a_service_survives_the_wire() -> None:
    """Type, selector and ports; a target port is a number or a name."""
    service = Service(
        metadata=ObjectMeta(name="a"),
        spec=ServiceSpec(
            type="NodePort",
            selector=FrozenMap({"app": "a"}),
            ports=(
                ServicePort(name="http", port=80, target_port="http", node_port=30000),
                ServicePort(name="dns", port=53, target_port=5353, protocol="UDP"),
            ),
        ),
    )
    body = msgspec.json.encode(service)
    assert msgspec.json.decode(body)["spec"]["ports"][0]["targetPort"] == "http"
    assert msgspec.json.decode(body, type=Service, dec_hook=decode_hook) == service
