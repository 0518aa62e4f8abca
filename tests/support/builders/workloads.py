"""Workloads for explorations: the life of objects of our controllers and examples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from examples.appcluster import reconciler as appcluster
from examples.memcached import reconciler as memcached
from handloop.apis.grammar.shard_selector import slot_of_namespace
from handloop.controller.foo.runnable import add_foo
from handloop.controller.foo.types import Foo
from handloop.controller.myapp.reconciler import add_myapp
from handloop.controller.myapp.types import MyApp
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.sharding.shards import Shards
from handloop_explore.workload import Step, Workload, applied, changed, deleted, settled

FOO: Final[dict[str, Any]] = {
    "apiVersion": Foo.resource.api_version,
    "kind": "Foo",
    "metadata": {"name": "a"},
    "spec": {"deploymentName": "a", "replicas": 1},
}
DEPLOYMENT: Final = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "a"},
    "spec": {
        "replicas": 4,
        "selector": {"matchLabels": {"app": "other"}},
        "template": {
            "metadata": {"labels": {"app": "other"}},
            "spec": {"containers": [{"name": "other", "image": "nginx"}]},
        },
    },
}
LIFE: Final = (applied(FOO), changed(FOO, {"spec": {"replicas": 3}}), settled(), deleted(FOO))


FOO_STORIES: Final[dict[str, tuple[Step, ...]]] = {
    "life": LIFE,
    "renamed": (
        applied(FOO),
        settled(),
        changed(FOO, {"spec": {"deploymentName": "b"}}),
        # who does not see the new name yet would make the old Deployment again, and leave it
        *[Step("wait", lambda _: None)] * 3,
        deleted(DEPLOYMENT),
    ),
    "deployment deleted": (applied(FOO), deleted(DEPLOYMENT)),
    "made again": (applied(FOO), deleted(FOO), applied(FOO)),
    "name taken, then freed": (applied(DEPLOYMENT), applied(FOO), deleted(DEPLOYMENT)),
}


def foo_workload(*steps: Step, add: Callable[..., object] = add_foo) -> Workload:
    """A workload of the Foo controller; no steps = LIFE. Args: add adds a controller of Foos."""

    def set_up(manager: Manager) -> None:
        manager.declare_reconciled(Foo)
        add(manager, workers=2)

    return Workload(set_up, steps or LIFE, settle_seconds=180)


FOO_LIFE: Final = foo_workload()
FOO_ELECTED: Final = replace(FOO_LIFE, replicas=2)
"""Two processes, of which one leads."""

SHARDS: Final = Shards(
    3, lease_duration_seconds=18, renew_deadline_seconds=12, retry_period_seconds=8, settle_seconds=10
)
TEAMS: Final = {
    slot_of_namespace(name, SHARDS.count): name for name in [f"team-{number}" for number in range(20)]
}


def shared(life: Workload, manifest: Mapping[str, Any], replicas: int) -> Workload:
    """
    An object in each slot. The second process joins 30 s after the first, when each has its Deployment.

    They are scaled while slots move to it, and deleted in the end.
    """
    namespaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": one}} for one in TEAMS.values()
    ]
    objects = [{**manifest, "metadata": {"name": "a", "namespace": one}} for one in TEAMS.values()]
    steps = (
        *map(applied, namespaces),
        *map(applied, objects),
        *(changed(obj, {"spec": {"replicas": number}}) for number in (2, 4, 3) for obj in objects),
        settled(),
        *map(deleted, objects),
    )
    return replace(life, steps=steps, replicas=replicas, shards=SHARDS, seconds=4, settle_seconds=90)


MYAPP: dict[str, Any] = {
    "apiVersion": MyApp.resource.api_version,
    "kind": "MyApp",
    "metadata": {"name": "a"},
    "spec": {"image": "nginx:1.27", "replicas": 2},
}
AUTOSCALED = {"spec": {"autoScaling": {"enabled": True, "minReplicas": 1, "maxReplicas": 3}}}


def myapp_workload(*steps: Step) -> Workload:
    """A workload of the MyApp controller."""
    return Workload(lambda manager: add_myapp(manager, workers=2), steps, settle_seconds=180)


MYAPP_UNSCALED: Final = myapp_workload(
    applied(MYAPP | {"spec": MYAPP["spec"] | AUTOSCALED["spec"]}),
    settled(),
    changed(MYAPP, {"spec": {"autoScaling": None}}),
)
"""The autoscaler is switched off: it is the one child that is deleted."""
MYAPP_LIFE = myapp_workload(
    applied(MYAPP),
    changed(MYAPP, {"spec": {"replicas": 3}}),
    settled(),  # from here on the autoscaler has the replicas, as they are then
    changed(MYAPP, AUTOSCALED),
    settled(),
    deleted(MYAPP),
)
MEMCACHED: Final = {
    "apiVersion": "cache.example.com/v1",
    "kind": "Memcached",
    "metadata": {"name": "a"},
    "spec": {"size": 2},
}
MEMCACHED_LIFE: Final = Workload(
    memcached.set_up,
    [applied(MEMCACHED), changed(MEMCACHED, {"spec": {"size": 3}}), settled(), deleted(MEMCACHED)],
    settle_seconds=180,
)
APPCLUSTER: Final = {
    "apiVersion": "demo.demo.io/v1",
    "kind": "AppCluster",
    "metadata": {"name": "a"},
    "spec": {"size": 2},
}
APPCLUSTER_LIFE: Final = Workload(
    appcluster.set_up,
    [
        applied(APPCLUSTER),
        changed(APPCLUSTER, {"spec": {"size": 3}}),
        changed(APPCLUSTER, {"spec": {"size": 1}}),
        settled(),
        deleted(APPCLUSTER),
    ],
    settle_seconds=180,
)
WORKLOADS: Final[dict[str, Workload]] = {
    **{f"foo {name}": replace(foo_workload(*steps), seconds=40) for name, steps in FOO_STORIES.items()},
    "foo, two processes": replace(foo_workload(), replicas=2, settle_seconds=90),
    "myapp life": MYAPP_LIFE,
    "myapp unscaled": MYAPP_UNSCALED,
    "myapp, two processes": replace(MYAPP_LIFE, replicas=2, settle_seconds=90),
    **{
        f"{name}, slots of {replicas} processes": shared(life, manifest, replicas)
        for name, life, manifest in (("foo", FOO_LIFE, FOO), ("myapp", MYAPP_LIFE, MYAPP))
        for replicas in (2, 3)
    },
    "memcached": MEMCACHED_LIFE,
    "appcluster": APPCLUSTER_LIFE,
}
"""Every workload of ours that is to end as undisturbed under every plan."""
