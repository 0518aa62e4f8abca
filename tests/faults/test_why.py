"""What `why` says of a name under the faults of docs/guarantees.md that concern one, by their rows."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any, Final

import pytest
from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment
from handloop.apis.core_v1 import Service, ServicePort, ServiceSpec
from handloop.apis.meta import Kind, ObjectMeta
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

A: Final = ObjectName("default", "a")
WRITES: Final = ("create", "patch", "update")
DEPLOYMENTS: Final = {"verbs": WRITES, "resources": ["deployments"]}


class Scene:
    """A sandbox with a manager, whose controllers and faults a row chooses."""

    def __init__(self) -> None:
        self.cluster = ManagedSandbox(Foo, MyApp)
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

    def says(self) -> list[str]:
        return [line for each in self.manager.why(A).explanations for line in each.says]


def fails(error: BaseException) -> Callable[[Scene], None]:
    def reconcile(_foo: Foo, _context: Context) -> None:
        raise error

    return lambda scene: scene.of_author(reconcile)


def with_fault(inject: Callable[[Any], object]) -> Callable[[Scene], None]:
    def begin(scene: Scene) -> None:
        inject(scene.faults)
        scene.myapp()

    return begin


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


def blocks(scene: Scene) -> None:
    def reconcile(_foo: Foo, _context: Context) -> None:
        scene.release.wait(20)

    scene.of_author(reconcile)


def changed_meanwhile(scene: Scene) -> None:
    blocks(scene)

    def change() -> None:
        eventually(lambda: "is being reconciled" in "".join(scene.says()), "begun")
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
    "T08": (with_fault(lambda faults: faults.lose_answer(executed=False, **DEPLOYMENTS)), RETRY),
    "T20": (listing("deployments", 403), r"waits for the caches: deployments\.apps: .*403"),
    "T21": (refused(429, retry_after=60), f"{RETRY}429"),
    "T23": (refused(503, "etcd is slow"), f"{RETRY}etcd is slow"),
    "P16": (fails(ZeroDivisionError("odd")), rf"{RETRY}ZeroDivisionError\('odd'\)"),
    "P17": (fails(SystemExit("no")), rf"{RETRY}SystemExit\('no'\)"),
    "P18": (fails(ValueError("for ever")), r"waits .* more after [3-9] failures, the last: ValueError"),
    "P19": (changed_meanwhile, "is reconciled once more afterwards, for Foo default/a updated"),
    "P21": (blocks, r"is being reconciled for .* in .*threading.py:\d+ in wait"),
    "A01": (with_fault(lambda faults: faults.conflict(**DEPLOYMENTS)), f"{RETRY}has been modified"),
    "A02": (
        with_fault(lambda faults: faults.conflict(resources=["myapps/status"])),
        f"{RETRY}Operation cannot be fulfilled on myapps",
    ),
    "A09": (another_service, r'waits .*the last: Service "a" already exists and has no owner'),
    "A12": (another_deployment, "backs off after .*already exists and is not managed by Foo"),
    "A15": (held_child, r'its status says Ready=False .*Deployment "a" is not gone yet'),
    "A18": (refused(422, "field is immutable"), f"{RETRY}field is immutable"),
    "A19": (with_fault(lambda faults: faults.deny(**DEPLOYMENTS)), f"{RETRY}is forbidden"),
    "A20": (refused(400, HOOK), f"{RETRY}{HOOK}"),
    "A24": (listing("myapps", 404), r"waits for the caches: myapps\.example\.com: .*404"),
    "A11": (made_again, r"its status says Ready=False .*is not gone yet"),
    "D05": (without_a_name, r"nothing to do: .*; the user was told: .*spec\.deploymentName is empty"),
}


@pytest.mark.parametrize("row", ROWS)
def test_why_says_it(row: str) -> None:
    """The reason, in a sentence: of how the name stands, or of what was decided last."""
    begin, expected = ROWS[row]
    scene = Scene()
    begin(scene)
    with captured_logs(), scene.cluster.running(scene.manager):
        try:
            eventually(lambda: any(re.search(expected, line) for line in scene.says()), f"{row}: {expected}")
        finally:
            scene.release.set()
