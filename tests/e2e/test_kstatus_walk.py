"""What kstatus takes objects for, version by version, from their creation to their deletion."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Final

import pytest

from examples.memcached.reconciler import set_up as set_up_memcached
from examples.memcached.types import Memcached, MemcachedSpec
from handloop.apis.apps_v1 import Deployment
from handloop.apis.conditions import Conditions
from handloop.apis.meta import APIStruct, Kind
from handloop.apis.schema_annotations import list_map
from handloop.controller.cli.project import Project
from handloop.controller.myapp.reconciler import add_myapp
from handloop.controller.myapp.types import MyApp, MyAppSpec
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.reconcile import TerminalError
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.reconciling.controller import Controller
from handloop.informers.keys import ObjectName
from handloop.kinds.core_v1 import ConfigMap
from handloop.testing.eventually import eventually
from handloop.testing.kstatus import State, kstatus
from support.rigs.example_cluster import ExampleCluster, example_cluster
from support.servers.api_server import APIServer, Endpoint, Watch, endpoint_of

NAME: Final = "a"
RETRIES: Final = 3
Object = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Subject:
    """
    A kind, its controller, and its walk.

    Args: new is the object to create; is_as_wanted compares it with its child, as JSON. change is a change of
    its spec. harm and mend let its reconciles fail, and end that; failed is what it is meanwhile.
    """

    new: Kind
    set_up: Callable[[Manager], object]
    child: type[Kind]
    is_as_wanted: Callable[[Object, Object], bool]
    change: dict[str, Any]
    harm: Callable[[ExampleCluster], object]
    mend: Callable[[ExampleCluster], object]
    failed: State = "InProgress"


def is_up(replicas: Callable[[Object], int], obj: Object, deployment: Object) -> bool:
    """Whether a Deployment has so many pods of this spec, all of them available."""
    metadata, status, wanted = deployment["metadata"], deployment.get("status", {}), replicas(obj)
    numbers = [status.get(name, 0) for name in ("replicas", "updatedReplicas", "availableReplicas")]
    is_seen = status.get("observedGeneration") == metadata["generation"]
    return is_seen and [deployment["spec"]["replicas"], *numbers] == [wanted] * 4


def orphan(cluster: ExampleCluster) -> None:
    """The Deployment is somebody else's now, and in the way."""
    cluster.patch(Deployment, NAME, metadata={"ownerReferences": None})


def memcached() -> Subject:
    """The example."""
    return Subject(
        new=Memcached.named(NAME, spec=MemcachedSpec(size=1)),
        set_up=set_up_memcached,
        child=Deployment,
        is_as_wanted=lambda obj, child: is_up(lambda found: found["spec"]["size"], obj, child),
        change={"size": 2},
        harm=orphan,
        mend=lambda cluster: cluster.delete(Deployment, NAME),
    )


def myapp() -> Subject:
    """The second controller of the program."""
    return Subject(
        new=MyApp.named(NAME, spec=MyAppSpec(image="nginx:1")),
        set_up=add_myapp,
        child=Deployment,
        is_as_wanted=lambda obj, child: is_up(lambda found: found["spec"]["replicas"], obj, child),
        change={"replicas": 2},
        harm=orphan,
        mend=lambda cluster: cluster.delete(Deployment, NAME),
    )


def scaffolded(folder: Path) -> Subject:
    """What `handloop create api` makes: its ConfigMap cannot be changed, and then its spec is."""
    project = Project.new(folder / "walked-operator", "example.com")
    list(project.write())
    list(project.add_api(group="walk", version="v1", kind="Note"))
    sys.path.insert(0, str(folder / "walked-operator"))
    types, reconciler = (import_module(f"walked_operator.note.{name}") for name in ("types", "reconciler"))

    def harm(cluster: ExampleCluster) -> None:
        cluster.patch(ConfigMap, NAME, immutable=True)
        cluster.patch(types.Note, NAME, spec={"message": "c"})

    return Subject(
        new=types.Note.named(NAME, spec=types.NoteSpec(message="a")),
        set_up=reconciler.set_up,
        child=ConfigMap,
        is_as_wanted=lambda obj, child: bool(child["data"]["message"] == obj["spec"]["message"]),
        change={"message": "b"},
        harm=harm,
        mend=lambda cluster: cluster.delete(ConfigMap, NAME),
    )


class PickySpec(APIStruct):
    """What a user wants."""

    message: str


class PickyStatus(APIStruct):
    """What the controller says."""

    observed_generation: int = 0
    conditions: Annotated[Conditions, list_map("type")] = ()


class Picky(Kind, group="walk.example.com", version="v1", plural="pickies"):
    """A kind whose controller gives up on a message."""

    spec: PickySpec
    status: PickyStatus = PickyStatus()


def picky() -> Subject:
    """It gives up without a word of its own."""

    def reconcile(obj: Picky, context: Context) -> None:
        if obj.spec.message == "no":
            raise TerminalError("no is no message")
        context.apply(ConfigMap.named(obj, data={"message": obj.spec.message}), owner=obj)
        context.update_status(obj, replace_status(obj))

    def replace_status(obj: Picky) -> PickyStatus:
        return PickyStatus(conditions=obj.status.conditions)

    def set_up(manager: Manager) -> None:
        builder = controller_for(manager, "pickies").for_(Picky).owns(ConfigMap)
        builder.writes(ConfigMap, "create", "patch").complete(reconcile)

    return Subject(
        new=Picky.named(NAME, spec=PickySpec(message="a")),
        set_up=set_up,
        child=ConfigMap,
        is_as_wanted=lambda obj, child: bool(child["data"]["message"] == obj["spec"]["message"]),
        change={"message": "b"},
        harm=lambda cluster: cluster.patch(Picky, NAME, spec={"message": "no"}),
        mend=lambda cluster: cluster.patch(Picky, NAME, spec={"message": "c"}),
        failed="Failed",
    )


class Walk:
    """One walk: every version of the object and of its child, and what was seen in between."""

    def __init__(
        self,
        subject: Subject,
        cluster: ExampleCluster,
        controller: Controller,
        versions: Watch,
        children: Watch,
    ) -> None:
        self.subject = subject
        self.cluster = cluster
        self.controller = controller
        self._versions = versions
        self._children = children
        self._seen = 0

    def until(self, state: State, what: str) -> list[State]:
        """Wait for a state. Returns: the states of all versions since the last call, each change once."""
        self.cluster.eventually(lambda: self.look() == state, f"{state}, {what}")
        last = self.cluster.get(type(self.subject.new), NAME)
        assert last is not None
        events = self._versions.until(
            lambda events: any(
                version(each["object"]) >= int(last.metadata.resource_version) for each in events
            )
        )
        found = [kstatus(each["object"]).state for each in events[self._seen :]]
        self._seen = len(events)
        return [now for before, now in pairwise([None, *found]) if now is not None and now != before]

    def look(self) -> State | None:
        """What it is now, None once it is gone. A reconcile that has told its success is about to end."""
        eventually(lambda: not self._hides(), "told that a retry is queued", seconds=5)
        obj = self.cluster.get(type(self.subject.new), NAME)
        return None if obj is None else kstatus(obj).state

    def _hides(self) -> bool:
        """Whether it is Current while a retry is queued."""
        failing = self._failures()
        obj = self.cluster.get(type(self.subject.new), NAME) if failing else None
        return obj is not None and kstatus(obj).state == "Current" and self._failures() >= failing

    def _failures(self) -> int:
        return self.controller.queue.num_requeues(ObjectName(self.cluster.namespace, NAME))

    def fails(self) -> bool:
        """Whether its reconciles have failed a few times, or for good."""
        tried = self._failures() > RETRIES
        return self.look() == self.subject.failed and (tried or self.subject.failed == "Failed")

    def check(self) -> None:
        """Each version that was Current had its child as it wants it, when it was written."""
        done = [
            each["object"] for each in self._versions.events if kstatus(each["object"]).state == "Current"
        ]
        assert done
        for obj in done:
            *_, event = [each for each in self._children.events if is_before(each["object"], obj)]
            assert event["type"] != "DELETED"
            assert self.subject.is_as_wanted(obj, event["object"]), (obj, event)


def is_before(child: Object, obj: Object) -> bool:
    """Whether this is a version of the object's child from before."""
    return child["metadata"]["name"] == obj["metadata"]["name"] and version(child) < version(obj)


def version(obj: Object) -> int:
    """One counter for all kinds of a server."""
    return int(obj["metadata"]["resourceVersion"])


@contextmanager
def walking(subject: Subject, cluster: ExampleCluster) -> Iterator[Walk]:
    """The operator works, and everything is recorded."""
    kind, sandbox = type(subject.new), cluster.sandbox
    endpoint = Endpoint(sandbox.url, sandbox.token) if sandbox else endpoint_of(cluster.kubeconfig)
    paths = [f"{each.resource.path(namespace=cluster.namespace)}?watch=1" for each in (kind, subject.child)]
    # after a change of the definition a server may go by the old one for a moment
    cluster.eventually(lambda: is_defined(subject.new, cluster), "defined with its default")
    with (
        APIServer(endpoint, real=sandbox is None) as server,
        server.watch(paths[0]) as versions,
        server.watch(paths[1]) as children,
        cluster.operator(subject.set_up) as controller,
    ):
        yield Walk(subject, cluster, controller, versions, children)


def is_defined(new: Kind, cluster: ExampleCluster) -> bool:
    """Whether a new object gets its status."""
    tried: Any = cluster.client.resource(type(new)).create(new, namespace=cluster.namespace, dry_run=True)
    return bool(tried.status.observed_generation == -1)


@pytest.fixture(params=["memcached", "myapp", "scaffolded", "picky"])
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    """Each of them."""
    path, modules = list(sys.path), set(sys.modules)
    yield scaffolded(tmp_path) if request.param == "scaffolded" else globals()[request.param]()
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith("walked_operator"):
            del sys.modules[name]


@pytest.mark.parametrize("server", ["sandbox", pytest.param("real", marks=pytest.mark.real)])
def test_it_is_never_current_while_work_is_queued(server: str, subject: Subject, tmp_path: Path) -> None:
    """Created, changed, failing, mended, and deleted: whoever waits by kstatus waits for the truth."""
    kind = type(subject.new)
    with example_cluster(server, tmp_path, kind) as cluster, walking(subject, cluster) as walk:
        cluster.create(subject.new)
        assert walk.until("Current", "created") == ["InProgress", "Current"]
        cluster.patch(kind, NAME, spec=subject.change)
        assert walk.until("Current", "changed") == ["InProgress", "Current"]
        subject.harm(cluster)
        cluster.eventually(walk.fails, "failing")
        assert walk.until(subject.failed, "failing")[-1] == subject.failed
        subject.mend(cluster)
        assert walk.until("Current", "mended")[-1] == "Current"
        cluster.client.resource(kind).delete(
            NAME, namespace=cluster.namespace, propagation_policy="Foreground"
        )
        cluster.eventually(lambda: walk.look() is None, "gone")
        walk.check()
