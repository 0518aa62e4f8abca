"""MyApps from before the schema: without its defaults, and against its rules."""

from __future__ import annotations

from handloop.apis.apps_v1 import Deployment
from handloop.apis.autoscaling_v2 import HorizontalPodAutoscaler
from handloop.apis.core_v1 import Event, Service
from handloop.controller.myapp.types import MyApp
from handloop.controller.runtime.reconcile import TerminalError
from handloop.testing.eventually import eventually
from support.rigs.myapp_rig import NAMESPACE, MyAppRig
from support.rigs.myapp_scenes import (
    READY,
    Managed,
    older_definition,
)


def test_an_object_that_does_not_fit_is_reported_and_does_no_harm() -> None:
    """A MyApp that cannot be read gets a Warning of its own; the others are served."""
    managed = Managed(older_definition())
    with managed.cluster.running(managed.manager):
        for name, spec in (
            ("words", {"port": "http"}),
            ("huge", {"replicas": 1000}),
            ("bare", {"image": None}),
        ):
            managed.create_app(name, **spec)
        managed.create_app("a")
        managed.wait_deployment()
        events = managed.cluster.client.resource(Event)

        def told() -> set[str]:
            return {e.involved_object.name for e in events.list().items if e.reason == "InvalidObject"}

        eventually(lambda: told() == {"words", "huge", "bare"}, "a Warning for each")
        assert [found.metadata.name for found in managed.deployments.list().items] == ["a"]


def test_defaults_are_our_own_too() -> None:
    """Stored without the server's defaults, and read so: the children get them all the same."""
    rig = MyAppRig(definition=older_definition())
    rig.call(
        "POST",
        MyApp.resource.path(namespace=NAMESPACE),
        {
            "apiVersion": "example.com/v1",
            "kind": "MyApp",
            "metadata": {"name": "a"},
            "spec": {"image": "nginx:1"},
        },
    )
    rig.settle()
    assert rig.raw(Deployment)["spec"]["replicas"] == 1
    assert rig.raw(Service)["spec"]["type"] == "ClusterIP"
    assert rig.raw(Service)["spec"]["ports"][0]["port"] == 8080
    rig.set_spec(autoScaling={"enabled": True, "maxReplicas": 3})
    rig.settle()
    spec = rig.raw(HorizontalPodAutoscaler)["spec"]
    assert (spec["minReplicas"], spec["metrics"][0]["resource"]["target"]["averageUtilization"]) == (1, 80)
    assert rig.conditions() == READY


def test_a_spec_that_breaks_a_rule_is_terminal() -> None:
    """What the schema's rules would refuse is Degraded with their words; the children stay as they are."""
    rig = MyAppRig(definition=older_definition())
    rig.create_app()
    rig.settle()
    begin = len(rig.transport.writes)
    rig.set_spec(image="nginx:2", autoScaling={"enabled": True, "minReplicas": 5, "maxReplicas": 3})
    error = rig.sync()
    assert isinstance(error, TerminalError)
    assert (
        rig.message("Degraded") == str(error) == "spec.autoScaling: minReplicas must not be above maxReplicas"
    )
    assert rig.conditions()["Ready"] == ("False", "ReconcileError")
    assert rig.writes_since(begin) == [("PATCH", "myapps/a/status")]
    rig.set_spec(autoScaling=None)
    rig.settle()
    assert rig.conditions() == READY
