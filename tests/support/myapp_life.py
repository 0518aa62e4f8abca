"""The life of a MyApp from end to end, in which every verb of its controller is needed."""

from __future__ import annotations

from functools import partial

from support.cluster import Cluster, Object, Objects
from support.foo_story import wait_event
from support.myapp_story import MyApps


def install_myapp(cluster: Cluster) -> None:
    """Put the definition of MyApp in place."""
    MyApps(cluster).install()


def tell_myapp_life(cluster: Cluster, name: str = "app") -> None:
    """
    Tell it, and check what can be seen.

    Created, it becomes ready; another image, another type of Service and back; a Service that was deleted is
    made again; an autoscaler comes, changes and goes; with the MyApp everything goes.
    """
    apps = MyApps(cluster)
    apps.create(name, replicas=2)
    apps.wait_ready(name, 2)
    wait_event(cluster, name, "DeploymentReady")

    apps.change(name, image="nginx:2")
    apps.wait_container(name, lambda container: container["image"] == "nginx:2", "another image")
    for kind in ("NodePort", "ClusterIP"):
        apps.change(name, serviceType=kind)
        apps.wait_service(name, partial(_has, "type", kind), kind)
    wait_event(cluster, name, "ServiceReady", count=3)

    before = cluster.get(apps.services, name)["metadata"]["uid"]
    cluster.delete(apps.services, name)
    cluster.wait(
        apps.services, lambda found: name in found and found[name]["metadata"]["uid"] != before, "another"
    )

    for most in (3, 4):
        apps.change(name, autoScaling={"enabled": True, "maxReplicas": most})
        _wait_autoscaler(apps, name, most)
    apps.change(name, autoScaling={"enabled": False, "maxReplicas": 4})
    cluster.wait(apps.autoscalers, lambda found: name not in found, "without an autoscaler")

    cluster.delete(apps.apps, name)
    for collection in (apps.apps, cluster.deployments, apps.services):
        cluster.wait(collection, lambda found: name not in found, f"{collection} rid of {name}")


def _has(field: str, wanted: str, spec: Object) -> bool:
    return bool(spec[field] == wanted)


def _wait_autoscaler(apps: MyApps, name: str, most: int) -> None:
    def is_so(found: Objects) -> bool:
        return name in found and found[name]["spec"]["maxReplicas"] == most

    apps.cluster.wait(apps.autoscalers, is_so, f"an autoscaler up to {most}")
