"""What has to change in a child: exactly the owned fields that differ."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment
from handloop.apis.core_v1 import (
    Container,
    ContainerPort,
    EnvVar,
    EnvVarSource,
    KeySelector,
    PodSpec,
    ResourceAmounts,
    ResourceRequirements,
    Service,
    ServicePort,
)
from handloop.apis.meta import FrozenMap
from handloop.controller.myapp.changes import autoscaler_changes, deployment_changes, guarded, service_changes
from handloop.controller.myapp.desired_children import new_autoscaler, new_deployment, new_service
from handloop.controller.myapp.types import AutoScaling
from handloop.sandbox.kinds.kind_table import named_schema
from support.myapp_builders import deployment_of, new_app

APP = new_app(replicas=2, env=[{"name": "A", "value": "1"}], resources={"limits": {"cpu": "1000m"}})
WANTED = new_deployment(APP)
REPLACE = {"$patch": "replace"}


def with_container(*others: Container, **fields: Any) -> Deployment:
    """The Deployment as wanted, but for fields of its container and other containers."""
    (container,) = WANTED.spec.template.spec.containers
    template = WANTED.spec.template
    spec = PodSpec(containers=(*others, replace(container, **fields)))
    return replace(WANTED, spec=replace(WANTED.spec, template=replace(template, spec=spec)))


def changes(live: Deployment, *, keep_replicas: bool = False) -> dict[str, Any]:
    """What has to change to have WANTED."""
    return deployment_changes(live, WANTED, keep_replicas=keep_replicas)


def container_changes(live: Deployment) -> dict[str, Any]:
    """What has to change in the container, and nothing but."""
    found = changes(live)
    (container,) = found["spec"]["template"]["spec"]["containers"]
    assert found == {"spec": {"template": {"spec": {"containers": [container]}}}}
    assert container.pop("name") == "app"
    inside: dict[str, Any] = container
    return inside


def test_what_is_as_wanted_needs_no_change() -> None:
    """Also when the server spells amounts in another way, and others have added to it."""
    assert changes(WANTED) == {}
    limits = ResourceRequirements(limits=ResourceAmounts(cpu="1"))
    sidecar = Container(name="sidecar", image="s:1")
    port = ContainerPort(name="metrics", container_port=9100)
    assert changes(with_container(sidecar, resources=limits, ports=(*_ports(), port))) == {}


def _ports() -> tuple[ContainerPort, ...]:
    return WANTED.spec.template.spec.containers[0].ports


def test_replicas_belong_to_whoever_scales() -> None:
    """Sent when they differ, unless an autoscaler has them: then never, whatever they are."""
    live = deployment_of(APP, scaled_to=7)
    assert changes(live) == {"spec": {"replicas": 2}}
    assert changes(live, keep_replicas=True) == {}
    assert changes(replace(live, spec=replace(live.spec, replicas=0)), keep_replicas=True) == {}


def test_image_and_amounts() -> None:
    """Each by itself; an amount that is wanted no more is removed."""
    assert container_changes(with_container(image="other:1")) == {"image": "nginx:1"}
    live = ResourceRequirements(
        limits=ResourceAmounts(cpu="2", memory="1Gi"), requests=ResourceAmounts(cpu="1m")
    )
    assert container_changes(with_container(resources=live)) == {
        "resources": {"limits": {"cpu": "1000m", "memory": None}, "requests": {"cpu": None}}
    }


@pytest.mark.parametrize(
    "env",
    [
        (),
        (EnvVar(name="A", value="2"),),
        (EnvVar(name="A", value_from=EnvVarSource(secret_key_ref=KeySelector(name="s", key="k"))),),
        (EnvVar(name="A", value_from=EnvVarSource()),),
        (EnvVar(name="A", value="1"), EnvVar(name="MORE", value="x")),
    ],
)
def test_variables_are_replaced_as_a_list(env: tuple[EnvVar, ...]) -> None:
    """A merge would keep what is wanted no more, or mix a value with a source."""
    expected = [*([REPLACE] if env else []), {"name": "A", "value": "1"}]
    assert container_changes(with_container(env=env)) == {"env": expected}


def container_ports(*live: ContainerPort) -> Any:
    """The list that the ports of the container are to be replaced with."""
    return container_changes(with_container(ports=live))["ports"]


def test_the_port_of_a_container() -> None:
    """Found by its name, or else by number and protocol, and changed where it is with what it has besides."""
    entry = {"name": "http", "containerPort": 8080}
    assert container_ports() == [entry]
    assert container_ports(ContainerPort(name="http", container_port=80)) == [REPLACE, entry]
    assert container_ports(ContainerPort(name="http", container_port=8080, protocol="UDP")) == [
        REPLACE,
        entry,
    ]
    metrics = ContainerPort(name="metrics", container_port=9100)
    assert container_ports(
        ContainerPort(name="web", container_port=8080, host_port=81, host_ip="10.0.0.1"), metrics
    ) == [
        REPLACE,
        {**entry, "hostPort": 81, "hostIP": "10.0.0.1"},
        {"name": "metrics", "containerPort": 9100},
    ]


def test_a_port_of_a_container_with_our_number_and_another_protocol() -> None:
    """It is somebody else's, and stays with all that it has, before ours and after it."""
    dns = ContainerPort(name="dns", container_port=8080, protocol="UDP", host_port=53)
    theirs = {"name": "dns", "containerPort": 8080, "protocol": "UDP", "hostPort": 53}
    entry = {"name": "http", "containerPort": 8080}
    assert changes(with_container(ports=(dns, *_ports()))) == {}
    assert container_ports(dns) == [REPLACE, theirs, entry]
    assert container_ports(dns, ContainerPort(name="web", container_port=8080)) == [REPLACE, theirs, entry]
    assert container_ports(ContainerPort(name="http", container_port=80), dns) == [REPLACE, entry, theirs]


def test_a_port_of_a_container_in_the_place_of_ours_gives_way() -> None:
    """There is one port of a number and protocol; what is as wanted is not touched for it."""
    theirs = ContainerPort(name="metrics", container_port=8080)
    moved = ContainerPort(name="http", container_port=80)
    assert container_ports(theirs, moved) == [REPLACE, {"name": "http", "containerPort": 8080}]
    assert changes(with_container(ports=(*_ports(), theirs))) == {}


@pytest.mark.parametrize("view", [ContainerPort, ServicePort])
def test_ports_are_seen_with_all_that_they_have(view: type[ContainerPort | ServicePort]) -> None:
    """Lists of them are replaced as a whole: what a view did not hold would be lost."""
    members = named_schema(f"api.core.v1.{view.__name__}")
    assert members is not None
    assert {field.encode_name for field in msgspec.structs.fields(view)} == members["properties"].keys()


def test_a_container_that_is_not_there() -> None:
    """It is sent whole, and without directives: the server would take them for elements of its lists."""
    live = replace(WANTED, spec=replace(WANTED.spec, template=replace(WANTED.spec.template, spec=PodSpec())))
    assert container_changes(live) == {
        "image": "nginx:1",
        "ports": [{"name": "http", "containerPort": 8080}],
        "env": [{"name": "A", "value": "1"}],
        "resources": {"limits": {"cpu": "1000m"}},
    }


def test_labels() -> None:
    """Ours are put back on the object and on the pods; others stay."""
    bare = replace(WANTED, metadata=replace(WANTED.metadata, labels=FrozenMap({"theirs": "x"})))
    assert changes(bare) == {"metadata": {"labels": dict(WANTED.metadata.labels)}}
    template = replace(
        WANTED.spec.template, metadata=replace(WANTED.spec.template.metadata, labels=FrozenMap())
    )
    pods = replace(WANTED, spec=replace(WANTED.spec, template=template))
    assert changes(pods) == {"spec": {"template": {"metadata": {"labels": dict(WANTED.metadata.labels)}}}}


def test_a_selector_is_never_changed() -> None:
    """It is immutable: to send another would be refused for ever."""
    other = replace(WANTED.spec, selector=replace(WANTED.spec.selector, match_labels=FrozenMap({"old": "x"})))
    assert changes(replace(WANTED, spec=other)) == {}


def test_guarded_adds_what_was_read() -> None:
    """Resource version and UID, beside labels that change."""
    live = deployment_of(APP)
    seen = {"resourceVersion": "7", "uid": "uid-of-child-a"}
    assert guarded(live, {"spec": {}}) == {"spec": {}, "metadata": seen}
    assert guarded(live, {"metadata": {"labels": {}}}) == {"metadata": {"labels": {}, **seen}}


def service(service_type: str = "ClusterIP", port: int = 8080) -> Service:
    """The Service of a MyApp."""
    return new_service(new_app(serviceType=service_type, port=port))


def with_ports(live: Service, *ports: ServicePort) -> Service:
    """The same with other ports."""
    return replace(live, spec=replace(live.spec, ports=ports))


HTTP = ServicePort(name="http", port=8080, target_port="http")
ENTRY = {"name": "http", "port": 8080, "targetPort": "http"}


def test_a_service_as_wanted() -> None:
    """A node port that the server gave, and ports of others, are no difference."""
    assert service_changes(service(), service()) == {}
    live = with_ports(
        service("NodePort"), replace(HTTP, node_port=30001), ServicePort(name="x", port=1, node_port=30002)
    )
    assert service_changes(live, service("NodePort")) == {}
    assert service_changes(live, service("LoadBalancer")) == {"spec": {"type": "LoadBalancer"}}


def test_node_ports_are_cleared_where_there_are_none() -> None:
    """Those of other ports, too: the server would refuse them."""
    live = with_ports(
        service("NodePort"), replace(HTTP, node_port=30001), ServicePort(name="x", port=1, node_port=30002)
    )
    assert service_changes(live, service("ClusterIP")) == {
        "spec": {
            "type": "ClusterIP",
            "ports": [REPLACE, ENTRY, {"name": "x", "port": 1}],
        }
    }


def test_a_port_that_moves_keeps_its_node_port() -> None:
    """It is changed where it is, and keeps what the server gave and others added."""
    live = with_ports(
        service("NodePort"), replace(HTTP, port=80, node_port=30001, app_protocol="kubernetes.io/h2c")
    )
    assert service_changes(live, service("NodePort")) == {
        "spec": {
            "ports": [REPLACE, {**ENTRY, "appProtocol": "kubernetes.io/h2c", "nodePort": 30001}],
        }
    }
    gone = with_ports(service())
    assert service_changes(gone, service()) == {"spec": {"ports": [ENTRY]}}


def test_a_port_that_lost_its_name_is_found_by_number() -> None:
    """A Service with one port may leave its name out."""
    live = with_ports(service(), replace(HTTP, name=""))
    assert service_changes(live, service()) == {"spec": {"ports": [REPLACE, ENTRY]}}


def test_a_port_of_our_number_and_another_protocol_is_somebody_elses() -> None:
    """It stays with all that it has, whichever of the two is listed first."""
    udp = ServicePort(name="h3", port=8080, target_port=8443, protocol="UDP", node_port=30002)
    theirs = {"name": "h3", "port": 8080, "targetPort": 8443, "protocol": "UDP", "nodePort": 30002}
    wanted = service("NodePort")
    assert service_changes(with_ports(wanted, udp, HTTP), wanted) == {}
    spoilt = replace(HTTP, target_port="wrong")
    assert service_changes(with_ports(wanted, udp, spoilt), wanted) == {
        "spec": {"ports": [REPLACE, theirs, ENTRY]}
    }
    assert service_changes(with_ports(wanted, replace(HTTP, port=80), udp), wanted) == {
        "spec": {"ports": [REPLACE, ENTRY, theirs]}
    }
    assert service_changes(with_ports(wanted, udp), wanted) == {"spec": {"ports": [REPLACE, theirs, ENTRY]}}
    del theirs["nodePort"]
    assert service_changes(with_ports(service(), udp, HTTP), service()) == {
        "spec": {"ports": [REPLACE, theirs, ENTRY]}
    }


def test_a_port_in_the_place_of_ours_gives_way() -> None:
    """A Service has one port of a number and protocol."""
    theirs = ServicePort(name="metrics", port=8080, target_port="metrics")
    live = with_ports(service(), theirs, replace(HTTP, port=80))
    assert service_changes(live, service()) == {"spec": {"ports": [REPLACE, ENTRY]}}


def test_the_selector_of_a_service_is_ours_alone() -> None:
    """A further label would leave the Service without pods."""
    wanted = service()
    keys = list(wanted.spec.selector)
    spoilt = FrozenMap({keys[0]: wanted.spec.selector[keys[0]], keys[1]: "x", "more": "y"})
    live = replace(wanted, spec=replace(wanted.spec, selector=spoilt))
    assert service_changes(live, wanted) == {
        "spec": {
            "selector": {
                keys[1]: wanted.spec.selector[keys[1]],
                keys[2]: wanted.spec.selector[keys[2]],
                "more": None,
            }
        }
    }


def test_an_autoscaler_changes_field_by_field() -> None:
    """Bounds and metrics by themselves, in the server's spelling."""
    live = new_autoscaler(APP, AutoScaling(enabled=True, max_replicas=3))
    assert autoscaler_changes(live, live) == {}
    more = new_autoscaler(APP, AutoScaling(enabled=True, max_replicas=4, min_replicas=2))
    assert autoscaler_changes(live, more) == {"spec": {"minReplicas": 2, "maxReplicas": 4}}
    hotter = new_autoscaler(
        APP, AutoScaling(enabled=True, max_replicas=3, target_cpu_utilization_percentage=90)
    )
    target = {"type": "Utilization", "averageUtilization": 90}
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": target}}
    (found,) = autoscaler_changes(live, hotter)["spec"]["metrics"]
    assert found == metric
