"""What `why` says of a name under the faults of docs/guarantees.md that concern one, by their rows."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable
from typing import Any, Final

import pytest
from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment
from handloop.apis.core_v1 import Service, ServicePort, ServiceSpec
from handloop.apis.meta import Kind, ObjectMeta, OwnerReference
from handloop.controller.foo.controller import new_deployment
from handloop.controller.foo.runnable import add_foo
from handloop.controller.foo.types import Foo
from handloop.controller.myapp.reconciler import add_myapp
from handloop.controller.myapp.types import MyApp, MyAppSpec
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.reconciling.context import Context
from handloop.informers.keys import ObjectName
from handloop.testing.eventually import eventually
from support.checks.captured_logs import captured_logs
from support.rigs.managed_sandbox import ManagedSandbox
from support.rigs.myapp_rig import CRDS, app
from support.rigs.myapp_scenes import older_definition

LONG: Final = "a" * 64
WRITES: Final = ("create", "patch", "update")
DEPLOYMENTS: Final = {"verbs": WRITES, "resources": ["deployments"]}


class Scene:
    """A sandbox with a manager, whose controllers and faults a row chooses."""

    def __init__(self, *, older: bool = False) -> None:
        """Args: older = MyApp's definition is one without rules."""
        self.cluster = ManagedSandbox(Foo) if older else ManagedSandbox(Foo, MyApp)
        if older:
            self.cluster.post(CRDS, older_definition())
        self.faults = self.cluster.sandbox.faults
        self.manager: Manager = self.cluster.manager()
        self.release = threading.Event()
        self.calls = 0

    def myapp(self) -> None:
        add_myapp(self.manager)
        metadata = ObjectMeta(name="a", namespace="default")
        self.stored(MyApp(metadata=metadata, spec=MyAppSpec(image="nginx")))

    def of_author(self, reconcile: Callable[[Foo, Context], None]) -> None:
        controller_for(self.manager, "author").for_(Foo).complete(reconcile)
        self.cluster.foo("a")

    def stored(self, obj: Kind) -> None:
        self.cluster.client.resource(type(obj)).create(obj)

    def says(self, name: str = "a") -> list[str]:
        return [
            line for each in self.manager.why(ObjectName("default", name)).explanations for line in each.says
        ]


def fails(error: BaseException) -> Callable[[Scene], None]:
    def reconcile(_foo: Foo, _context: Context) -> None:
        raise error

    return lambda scene: scene.of_author(reconcile)


def with_fault(inject: Callable[[Any], object]) -> Callable[[Scene], None]:
    def begin(scene: Scene) -> None:
        inject(scene.faults)
        scene.myapp()

    return begin


def lost_each_time(scene: Scene) -> None:
    """Each reconcile writes another Deployment: of one that is lost once, other lines soon take the place."""
    scene.faults.lose_answer(verbs=WRITES, resources=["deployments"])
    numbers = itertools.count()

    def reconcile(foo: Foo, context: Context) -> None:
        made = new_deployment(foo)
        metadata = replace(made.metadata, annotations={"number": str(next(numbers))})
        context.apply(replace(made, metadata=metadata))

    scene.of_author(reconcile)


def another_service(scene: Scene) -> None:
    """Of the name of a child, and nobody's."""
    metadata = ObjectMeta(name="a", namespace="default")
    scene.stored(Service(metadata=metadata, spec=ServiceSpec(ports=(ServicePort(port=80),))))
    scene.myapp()


def another_deployment(scene: Scene) -> None:
    """That the Foo names, and that is somebody else's."""
    scene.of_author(lambda _foo, _context: None)
    foo = scene.cluster.client.resource(Foo).get("a", namespace="default")
    made = new_deployment(foo)
    scene.stored(replace(made, metadata=replace(made.metadata, owner_references=())))
    add_foo(scene.manager, workers=1)


def made_again(scene: Scene) -> None:
    """A Deployment of an earlier MyApp of the name, which is not collected yet."""
    owner = {"apiVersion": "example.com/v1", "kind": "MyApp", "name": "a", "uid": "gone", "controller": True}
    labels = {"app": "a"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    scene.cluster.post(
        "/apis/apps/v1/namespaces/default/deployments",
        {"metadata": {"name": "a", "ownerReferences": [owner]}, "spec": spec},
    )
    scene.myapp()


def without_a_name(scene: Scene) -> None:
    """That of its Deployment is empty."""
    add_foo(scene.manager, workers=1)
    head = {"apiVersion": Foo.resource.api_version, "kind": "Foo", "metadata": {"name": "a"}}
    scene.cluster.post(Foo.resource.path(namespace="default"), {**head, "spec": {"deploymentName": ""}})


def held_child(scene: Scene) -> None:
    """A child that a foreign finalizer keeps."""
    scene.myapp()

    def hold() -> None:
        deployments = scene.cluster.client.resource(Deployment)
        eventually(lambda: deployments.list(namespace="default").items, "made")
        deployments.patch("a", {"metadata": {"finalizers": ["example.org/x"]}}, namespace="default")
        deployments.delete("a", namespace="default")

    threading.Thread(target=hold, daemon=True).start()


def owned_by_another(scene: Scene) -> None:
    """A child that somebody else controls."""
    owner = OwnerReference(api_version="v1", kind="ConfigMap", name="other", uid="2", controller=True)
    metadata = ObjectMeta(name="a", namespace="default", owner_references=(owner,))
    scene.stored(Service(metadata=metadata, spec=ServiceSpec(ports=(ServicePort(port=80),))))
    scene.myapp()


def goes_and_cannot(scene: Scene) -> None:
    """A Foo with a finalizer of its author's, whose clean-up fails."""

    def reconcile(foo: Foo, _context: Context) -> None:
        if foo.metadata.deletion_timestamp:
            raise ValueError("the bucket is not empty")

    controller_for(scene.manager, "author").for_(Foo).complete(reconcile)
    scene.cluster.foo("a", finalizers=["example.org/bucket"])
    scene.cluster.client.resource(Foo).delete("a", namespace="default")


def loosely(**spec: Any) -> Callable[[Scene], None]:
    """A MyApp that an older definition let in."""

    def begin(scene: Scene) -> None:
        add_myapp(scene.manager)
        scene.cluster.post(MyApp.resource.path(namespace="default"), app("a", **spec))

    return begin


def of_an_impossible_name(scene: Scene) -> None:
    """A Foo's name becomes a label of its pods; this one cannot."""
    add_foo(scene.manager, workers=1)
    scene.cluster.foo(LONG, deployment="a")


def changed_often(
    change: Callable[[int], dict[str, Any]], *, subresource: str = ""
) -> Callable[[Scene], None]:
    """A MyApp that waits for its pods is changed: often, as the first may meet reconciles of others."""

    def begin(scene: Scene) -> None:
        scene.myapp()

        def edit() -> None:
            myapps, number = scene.cluster.client.resource(MyApp), 0
            while not scene.release.wait(0.2):
                number += 1
                myapps.patch("a", change(number), namespace="default", subresource=subresource)

        threading.Thread(target=edit, daemon=True).start()

    return begin


def status(number: int) -> dict[str, Any]:
    return {"status": {"readyReplicas": number}}


def poke(number: int) -> dict[str, Any]:
    return {"metadata": {"annotations": {"example.com/reconcile-at": str(number)}}}


def out_of_order(scene: Scene) -> None:
    """The server answers nothing but 503 once the MyApp exists."""
    scene.myapp()
    scene.faults.error(503)


def blocks(scene: Scene) -> None:
    def reconcile(_foo: Foo, _context: Context) -> None:
        scene.release.wait(20)

    scene.of_author(reconcile)


def changed_meanwhile(scene: Scene) -> None:
    blocks(scene)

    def change() -> None:
        eventually(lambda: "has been in its reconcile for" in "".join(scene.says()), "begun")
        foos = scene.cluster.client.resource(Foo)
        foos.patch("a", {"spec": {"replicas": 3}}, namespace="default")

    threading.Thread(target=change, daemon=True).start()


def listing(resource: str, code: int) -> Callable[[Scene], None]:
    return with_fault(lambda faults: faults.error(code, verbs=["list", "watch"], resources=[resource]))


def refused(code: int, message: str = "", **fault: Any) -> Callable[[Scene], None]:
    return with_fault(lambda faults: faults.error(code, message=message, **fault, **DEPLOYMENTS))


RETRY = r"waits .* more after \d+ failures?, the last: .*"
HOOK = 'admission webhook "deny.example.org" denied'
ROWS: Final[dict[str, tuple[Callable[[Scene], None], str]]] = {
    "T01": (out_of_order, r"waits for the caches: .*503"),
    "T03": (
        with_fault(lambda faults: faults.lose_answer(verbs=["list", "watch"], resources=["deployments"])),
        r"waits for the caches: deployments\.apps: no complete list yet",
    ),
    "T08": (with_fault(lambda faults: faults.lose_answer(executed=False, **DEPLOYMENTS)), RETRY),
    "T19": (refused(401, "the token has expired"), f"{RETRY}the token has expired"),
    "T20": (listing("deployments", 403), r"waits for the caches: deployments\.apps: .*403"),
    "T21": (refused(429, retry_after=60), f"{RETRY}429"),
    "T23": (refused(503, "etcd is slow"), f"{RETRY}etcd is slow"),
    "P16": (fails(ZeroDivisionError("odd")), rf"{RETRY}ZeroDivisionError\('odd'\)"),
    "P17": (fails(SystemExit("no")), rf"{RETRY}SystemExit\('no'\)"),
    "P18": (fails(ValueError("for ever")), r"waits .* more after [3-9] failures, the last: ValueError"),
    "P19": (changed_meanwhile, "is reconciled again afterwards, for Foo default/a updated"),
    "P21": (blocks, r"has been in its reconcile for .* at .*threading.py:\d+ in wait"),
    "P22": (fails(MemoryError("no more")), rf"{RETRY}MemoryError\('no more'\)"),
    "A01": (with_fault(lambda faults: faults.conflict(**DEPLOYMENTS)), f"{RETRY}has been modified"),
    "A02": (
        with_fault(lambda faults: faults.conflict(resources=["myapps/status"])),
        f"{RETRY}Operation cannot be fulfilled on myapps",
    ),
    "A03": (
        with_fault(lambda faults: faults.conflict(**DEPLOYMENTS)),
        r"waits .* more after [4-9] failures, the last: .*has been modified",
    ),
    "A05": (refused(404, "not there"), f"{RETRY}not there"),
    "A07": (lost_each_time, f"{RETRY}a fault lost the answer"),
    "A09": (another_service, r'waits .*the last: Service "a" already exists and has no owner'),
    "A12": (another_deployment, "backs off after .*already exists and is not managed by Foo"),
    "A13": (owned_by_another, r'waits .*the last: .*Service "a" .*ConfigMap'),
    "A14": (goes_and_cannot, f"{RETRY}the bucket is not empty"),
    "A15": (held_child, r'its status says Ready=False .*Deployment "a" is not gone yet'),
    "A18": (refused(422, "field is immutable"), f"{RETRY}field is immutable"),
    "A19": (with_fault(lambda faults: faults.deny(**DEPLOYMENTS)), f"{RETRY}is forbidden"),
    "A20": (refused(400, HOOK), f"{RETRY}{HOOK}"),
    "A21": (changed_often(poke), "reconciled .*for MyApp default/a poked: wrote nothing"),
    "A23": (
        refused(403, 'namespace "default" is being terminated'),
        f'{RETRY}namespace "default" is being terminated',
    ),
    "A24": (listing("myapps", 404), r"waits for the caches: myapps\.example\.com: .*404"),
    "A25": (listing("myapps", 500), r"waits for the caches: myapps\.example\.com: .*500"),
    "A11": (made_again, r"its status says Ready=False .*is not gone yet"),
    "D05": (without_a_name, r"nothing to do: .*; the user was warned: .*spec\.deploymentName is empty"),
    "D07": (loosely(port="http"), "is not reconciled: the object does not fit its type"),
    "D08": (
        loosely(autoScaling={"enabled": True, "minReplicas": 5, "maxReplicas": 2}),
        "waits for a change, as the last reconcile failed permanently: .*minReplicas",
    ),
    "D09": (
        of_an_impossible_name,
        r"nothing to do: .*; the user was warned: Deployment refused .*matchLabels: Invalid value",
    ),
    "D13": (changed_often(status, subresource="status"), r"\d+ events were dropped by GenerationChanged"),
    "S02": (listing("myapps", 403), r"waits for the caches: myapps\.example\.com: .*403"),
}
OLDER: Final = ("D07", "D08")


@pytest.mark.parametrize("row", ROWS)
def test_why_says_it(row: str) -> None:
    """The reason, in a sentence: of how the name stands, or of what was decided last."""
    begin, expected = ROWS[row]
    scene = Scene(older=row in OLDER)
    begin(scene)
    name = LONG if row == "D09" else "a"
    with captured_logs(), scene.cluster.running(scene.manager):
        try:
            eventually(lambda: re.search(expected, "\n".join(scene.says(name))), f"{row}: {expected}")
        finally:
            scene.release.set()
