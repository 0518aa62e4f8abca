"""Random stories of managers who create, apply and patch one object, and what a server makes of them."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any, Final

from handloop_sandbox.kinds import typed
from handloop_sandbox.patches.managed_fields import record_update
from handloop_sandbox.patches.server_side_apply import server_side_apply
from handloop_sandbox.verbs import object_rules
from handloop_sandbox.wire.resource import ServedResource
from handloop_sandbox.wire.status import StatusError, invalid
from support.builders.builtin import builtin
from support.builders.thing import THINGS
from support.recorded.patch_cases import MEDIA_TYPES
from support.servers.real_server import RealServer, collection

Object = dict[str, Any]

APPLY: Final = "application/apply-patch+yaml"
NOW: Final = 1_700_000_000.0
RESOURCES: Final = {"things": THINGS, "podtemplates": builtin("", "podtemplates")}
_VOLATILE: Final = frozenset(("resourceVersion", "uid", "creationTimestamp", "generation", "namespace"))


class Configurations:
    """A seeded source of what managers want."""

    def __init__(self, chance: random.Random) -> None:
        self.random = chance

    def some(self, odds: float, **choices: Callable[[], Any]) -> Object:
        """Some of the members."""
        return {name: make() for name, make in choices.items() if self.random.random() < odds}

    def one(self, *choices: Any) -> Any:
        """One of the values."""
        return copy.deepcopy(self.random.choice(choices))

    def few(self, choices: str | list[Any], least: int = 0, most: int = 3) -> list[Any]:
        """Different ones of the values."""
        return self.random.sample(choices, self.random.randint(least, most))

    def body(self, plural: str, name: str) -> Object:
        """An object as a manager writes it."""
        about = {"name": name, **self.some(0.3, labels=self._labels, finalizers=list)}
        if plural == "things":
            spec = self.some(0.9, spec=self.thing_spec)
            return {"apiVersion": THINGS.api_version, "kind": "Thing", "metadata": about, **spec}
        template = {"metadata": {"labels": {"l": self.one("1", "2")}}, "spec": self.pod_spec()}
        return {"apiVersion": "v1", "kind": "PodTemplate", "metadata": about, "template": template}

    def _labels(self) -> Object:
        return {name: self.one("1", "2") for name in self.few("ab", most=2)}

    def thing_spec(self) -> Object:
        """The spec of a Thing."""
        one, few, some = self.one, self.few, self.some
        return some(
            0.4,
            a=lambda: one(0, 1, 2),
            b=lambda: one("x", "y", "<"),
            flag=lambda: one(True, False),
            inner=lambda: some(
                0.5, x=lambda: one(0, 1), y=lambda: one("p", "q"), deep=lambda: one({}, {"z": "1"})
            ),
            atom=lambda: some(0.6, x=lambda: one(0, 1), y=lambda: one("p", "q")),
            labels=lambda: {name: one("1", "2") for name in few("abc")},
            plain=lambda: [one("a", "b") for _ in few("xy", most=2)],
            tags=lambda: few(["a", "b", "c", "d<"]),
            items=lambda: [self._item(name) for name in few("ijkl")],
            ports=lambda: [self._port(*port) for port in few([(80, "TCP"), (80, "UDP"), (443, "TCP")])],
            free=lambda: one({"a": 1}, {"a": [1, 2]}, {"b": {"c": 1}}, {"b": {"d": 1}}, {}),
            ios=lambda: one(1, "50%"),
        )

    def _item(self, name: str) -> Object:
        one = self.one
        return {
            "name": name,
            **self.some(0.5, v=lambda: one("1", "2"), w=lambda: one(0, 1), sub=lambda: one({}, {"q": 1})),
        }

    def _port(self, port: int, protocol: str) -> Object:
        named = self.some(0.9 if protocol == "UDP" else 0.5, proto=lambda: protocol)
        return {"port": port, **named, **self.some(0.5, n=lambda: self.one("1", "2"))}

    def pod_spec(self) -> Object:
        """The spec of a pod, with a container or two."""
        one, few, some = self.one, self.few, self.some
        return {
            "containers": [self._container(name) for name in few(["app", "two", "three"], 1, 2)],
            **some(
                0.25,
                nodeSelector=lambda: dict.fromkeys(few("ab", most=2), "1"),
                tolerations=lambda: [{"key": one("k", "l"), "operator": "Exists"}],
                terminationGracePeriodSeconds=lambda: one(0, 30, 5),
                hostNetwork=lambda: False,
                securityContext=lambda: one({}, {"runAsUser": 1}),
                volumes=lambda: [
                    {"name": name, **one({"emptyDir": {}}, {"configMap": {"name": "c"}})}
                    for name in few("vw", 1, 2)
                ],
            ),
        }

    def _container(self, name: str) -> Object:
        one, few = self.one, self.few
        return {
            "name": name,
            "image": one("a:1", "b:2"),
            **self.some(
                0.3,
                env=lambda: [{"name": name, "value": one("1", "2")} for name in few("ABC", most=2)],
                ports=lambda: [
                    self._container_port(*port) for port in few([(80, "TCP"), (80, "UDP"), (53, "UDP")], 1, 2)
                ],
                args=lambda: one(["x"], ["y", "z"]),
                resources=lambda: {
                    "limits": {"cpu": one("1", "1000m", "2"), **self.some(0.5, memory=lambda: "1Gi")}
                },
                livenessProbe=lambda: {"httpGet": {"port": one(80, "web")}},
                imagePullPolicy=lambda: one("Always", "Never"),
                tty=lambda: one(True, False),
            ),
        }

    def _container_port(self, port: int, protocol: str) -> Object:
        named = self.some(1.0 if protocol == "UDP" else 0.5, protocol=lambda: protocol)
        return {"containerPort": port, **named, **self.some(0.4, name=lambda: self.one("p", "q"))}

    def merge(self, body: Object) -> Object:
        """A merge patch of what the body holds: some of it is taken away."""
        wanted = body.get("spec") or body.get("template", {}).get("spec", {})
        patch = {
            key: None if key != "containers" and self.random.random() < 0.2 else value
            for key, value in wanted.items()
        }
        about = self.some(0.4, labels=lambda: {**self._labels(), **self.some(0.3, a=lambda: None)})
        spec = {"spec": patch} if body["kind"] == "Thing" else {"template": {"spec": patch}}
        return {**spec, "metadata": about}


def ask(server: RealServer, plural: str, seed: int, stories: int) -> Iterator[list[Object]]:
    """Stories: lists of steps, each with who did what and what the real server made of it."""
    for number in range(stories):
        chance = random.Random(f"{plural} {seed} {number}")
        yield list(_story(server, plural, f"s{seed}-{number}", chance))


def _story(server: RealServer, plural: str, name: str, chance: random.Random) -> Iterator[Object]:
    wishes, exists = Configurations(chance), False
    path = collection(RESOURCES[plural])
    for _ in range(chance.randint(2, 7)):
        step = _step(wishes, plural, name, exists=exists)
        query = f"fieldManager={step['manager']}" + ("&force=true" if step["force"] else "")
        method, media_type = ("PATCH", APPLY) if step["does"] == "apply" else ("PATCH", MEDIA_TYPES["merge"])
        if step["does"] == "create":
            method, media_type = "POST", ""
        where = path if method == "POST" else f"{path}/{name}"
        answer = server.request(method, f"{where}?{query}", step["body"], content_type=media_type)
        exists = exists or answer.status < 300
        if not _trips_over_itself(answer.body):
            yield {**step, "code": answer.status, "answer": neutral(answer.json())}


def _trips_over_itself(body: bytes) -> bool:
    """Whether the real server refuses the null that its own merge left of an emptied map."""
    return b'Invalid value: \\"null\\"' in body


def _step(wishes: Configurations, plural: str, name: str, *, exists: bool) -> Object:
    does = wishes.one("apply", "apply", "apply", "merge") if exists else wishes.one("apply", "create")
    body = wishes.body(plural, name)
    return {
        "does": does,
        "manager": wishes.one("m1", "m2", "m3"),
        "force": does == "apply" and wishes.random.random() < 0.4,
        "body": wishes.merge(body) if does == "merge" else body,
    }


def neutral(answer: Object) -> Object:
    """An object without empty metadata and what differs from run to run; other answers as they are."""
    if answer["kind"] == "Status":
        return answer
    about = {key: value for key, value in answer["metadata"].items() if key not in _VOLATILE and value}
    if "managedFields" in about:
        entries = [{k: v for k, v in entry.items() if k != "time"} for entry in about["managedFields"]]
        about["managedFields"] = sorted(entries, key=lambda entry: (entry["manager"], entry["operation"]))
    return {**answer, "metadata": about}


def check(plural: str, story: list[Object]) -> None:
    """The sandbox does in every step what the real server did; each step starts from the real answer."""
    current: Object | None = None
    for step in story:
        if step["does"] == "apply":
            _check_apply(RESOURCES[plural], current, step)
        elif step["code"] < 300:
            _check_update(RESOURCES[plural], current, step)
        current = step["answer"] if step["code"] < 300 else current


def _check_apply(resource: ServedResource, current: Object | None, step: Object) -> None:
    before = copy.deepcopy((current, step["body"]))
    try:
        mine = neutral(_applied(resource, current, step))
    except StatusError as refusal:
        mine = refusal.status
    assert alike(mine) == alike(step["answer"]), step
    assert (current, step["body"]) == before, "changed what it was given"


def _applied(resource: ServedResource, current: Object | None, step: Object) -> Object:
    merged = server_side_apply(
        current, step["body"], resource=resource, manager=step["manager"], force=step["force"], now=NOW
    )
    if not resource.custom:
        assert resource.schema is not None
        merged = typed.decode(resource.schema or {}, merged, typed.Report())
    obj = object_rules.defaulted(resource, merged)
    if current is None:
        causes = object_rules.validate_new(resource, obj)
    else:
        causes = object_rules.validate_update(resource, obj, current).causes
    if causes:
        raise invalid(resource, obj["metadata"]["name"], causes)
    return obj


def _check_update(resource: ServedResource, current: Object | None, step: Object) -> None:
    answer = step["answer"]
    about = {key: value for key, value in answer["metadata"].items() if key != "managedFields"}
    if current is not None:
        about["managedFields"] = current["metadata"].get("managedFields")
    new = {**answer, "metadata": about}
    before = copy.deepcopy((current, new))
    fields = record_update(current, new, resource=resource, manager=step["manager"], now=NOW)
    mine = neutral({**answer, "metadata": {**about, "managedFields": fields}})["metadata"]
    assert mine.get("managedFields") == answer["metadata"].get("managedFields"), step
    assert (current, new) == before, "changed what it was given"


def alike(answer: Object) -> Object:
    """A Status with its causes in order: the real server names conflicts as Go's maps have them."""
    if answer["kind"] != "Status":
        return answer
    details = answer.get("details", {})
    causes = sorted(details.get("causes", []), key=lambda cause: sorted(cause.items()))
    lines = sorted(answer["message"].split("\n"))
    several = answer.get("reason") == "Conflict" and len(causes) > 1
    message = lines[-1] if several else answer["message"]
    return {**answer, "message": message, "details": {**details, "causes": causes}}
