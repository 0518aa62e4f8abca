"""Random patches of one rich Deployment, and what a server makes of them."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from http.client import RemoteDisconnected
from typing import Any, Final

import jsonpatch

from handloop_sandbox.kinds import typed
from handloop_sandbox.kinds.defaults import default_object
from handloop_sandbox.patches.json_patch import json_patch
from handloop_sandbox.patches.merge_patches import merge_patch, strategic_merge_patch
from handloop_sandbox.rules.validation import validate
from handloop_sandbox.verbs import metadata
from handloop_sandbox.wire.resource import ServedResource
from handloop_sandbox.wire.status import StatusError, invalid
from support.builders.builtin import builtin
from support.builders.kind_samples import RICH_TEMPLATE, SELECTOR
from support.recorded.recordings import shortened
from support.servers.real_server import OURS, RealServer

Object = dict[str, Any]

MEDIA_TYPES: Final = {
    "strategic": "application/strategic-merge-patch+json",
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
}
TIMES_ASKED: Final = 12
"""Which of several mistakes Go's maps show first is chance: what they show so often is not."""
PATCHED: Final[Object] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "patched",
        "finalizers": ["example.org/a", "example.org/b"],
        "labels": {"x": "1", "y": "2"},
        "annotations": {"q": "1"},
    },
    "spec": {"replicas": 0, "paused": True, "selector": SELECTOR, "template": RICH_TEMPLATE},
}
_DEPLOYMENTS: Final = OURS.replace("/api/v1", "/apis/apps/v1") + "/deployments"
_POINTERS: Final = (
    "/metadata/labels/x",
    "/metadata/labels/new",
    "/spec/replicas",
    "/spec/template/spec/containers/0",
    "/spec/template/spec/containers/0/image",
    "/spec/template/spec/containers/-",
    "/spec/template/spec/containers/9",
    "/spec/template/spec/containers/-1/image",
    "/spec/template/spec/containers/0/env/1",
    "/spec/template/spec/containers/0/args",
    "/nope/deep",
    "/spec/nope",
    "/metadata/annotations/a~1b",
    "/metadata/finalizers/0",
    "",
    "spec/replicas",
    "/spec/template/spec/nodeSelector",
    "/metadata/annotations",
)
_VALUES: Final[tuple[Any, ...]] = (
    1,
    "1",
    "x:1",
    None,
    {"name": "zz", "image": "i"},
    {"a": "b"},
    ["example.org/q"],
    0,
    True,
    1.5,
    [],
)


class Patches:
    """A seeded source of patches, right and wrong."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def next(self) -> tuple[str, Any]:
        """The kind of a patch, and the patch."""
        kind = self._random.choice(["strategic", "strategic", "merge", "json"])
        if kind == "json":
            return kind, self.operations()
        return kind, self.strategic() if kind == "strategic" else plain(self.strategic())

    def _some(self, chance: float, **choices: Callable[[], Any]) -> Object:
        return {name: make() for name, make in choices.items() if self._random.random() < chance}

    def _one(self, *choices: Any) -> Any:
        return copy.deepcopy(self._random.choice(choices))

    def _names(self, *names: str) -> list[Object]:
        return [{"name": name} for name in self._random.sample(names, self._random.randint(1, 4))]

    def _env(self) -> list[Object]:
        one = self._one
        return [
            {"name": one("A", "EMPTY", "NEW", "Z"), "value": one("5", None, "")}
            for _ in range(self._random.randint(0, 2))
        ]

    def _ports(self) -> list[Object]:
        return [
            {
                "containerPort": self._one(80, 53, 8080),
                **self._some(0.5, name=lambda: self._one("p", "q")),
                **self._some(0.2, **{"$patch": lambda: "delete"}),
            }
            for _ in range(self._random.randint(0, 2))
        ]

    def _container(self) -> Object:
        one = self._one
        limits = {"limits": {"cpu": None, "memory": "1Gi"}}
        probe = {"$retainKeys": ["tcpSocket"], "tcpSocket": {"port": 1}}
        return {
            **self._some(0.93, name=lambda: one("app", "two", "three", "four")),
            **self._some(0.6, image=lambda: one("a:1", "b:2")),
            **self._some(0.35, env=self._env, ports=self._ports),
            **self._some(
                0.2,
                args=lambda: one(["--y"], [], None),
                resources=lambda: one(
                    limits, {"$patch": "replace", "limits": {"cpu": "2"}}, None, {"$patch": "delete"}
                ),
                livenessProbe=lambda: one(None, {"httpGet": {"port": 81}}, probe),
            ),
            **self._some(0.15, **{"$patch": lambda: one("delete", "replace", "merge", "bogus")}),
            **self._some(
                0.2,
                **{"$setElementOrder/env": lambda: self._names("A", "EMPTY", "NODE", "S", "CPU", "NEW", "Z")},
            ),
        }

    def _pod_spec(self) -> Object:
        one = self._one
        retained = {"name": "c", "$retainKeys": ["name", "secret"], "secret": {"secretName": "k"}}
        return {
            "containers": [self._container() for _ in range(self._random.randint(0, 2))],
            **self._some(
                0.35,
                **{"$setElementOrder/containers": lambda: self._names("app", "two", "three", "four")},
                volumes=lambda: [
                    one(
                        {"name": "empty", "$patch": "delete"},
                        {"name": "c", "configMap": {"name": "zz"}},
                        retained,
                        {"name": "nn", "emptyDir": {}},
                        {"name": "c", "configMap": None, "emptyDir": {}},
                    )
                ],
                tolerations=lambda: one([{"key": "z", "operator": "Exists"}], None, []),
                nodeSelector=lambda: one({"disk": None, "a": "b"}, None, {"$patch": "replace", "n": "1"}),
            ),
            **self._some(0.2, terminationGracePeriodSeconds=lambda: one(None, 5), bogus=lambda: 1),
        }

    def strategic(self) -> Object:
        """A strategic merge patch."""
        one = self._one
        spec = {
            **self._some(0.7, template=lambda: {"spec": self._pod_spec()}),
            **self._some(
                0.3,
                replicas=lambda: one(3, None, 0),
                paused=lambda: one(None, False),
                strategy=lambda: one(
                    {"$retainKeys": ["type"], "type": "Recreate"},
                    {"rollingUpdate": {"maxSurge": "50%"}},
                    {"rollingUpdate": None, "type": "Recreate"},
                    {"type": "Recreate"},
                    None,
                ),
            ),
        }
        return {key: value for key, value in (("spec", spec), ("metadata", self._metadata())) if value}

    def _metadata(self) -> Object:
        one = self._one
        orders = (
            ["example.org/c", "example.org/b"],
            ["example.org/b", "example.org/a"],
            ["example.org/b"],
        )
        return self._some(
            0.25,
            labels=lambda: one(
                {"x": None, "z": "1"},
                {"$patch": "replace", "only": "1"},
                {"$patch": "delete"},
                None,
                {"$patch": "frob"},
            ),
            finalizers=lambda: one(["example.org/c"], [], ["example.org/b"]),
            **{
                "$deleteFromPrimitiveList/finalizers": lambda: one(["example.org/a"], ["nope/x"], []),
                "$setElementOrder/finalizers": lambda: one(*orders),
            },
        )

    def operations(self) -> list[Object]:
        """A JSON patch."""
        return [self._operation() for _ in range(self._random.randint(1, 3))]

    def _operation(self) -> Object:
        one = self._one
        name = one("add", "remove", "replace", "copy", "test", "move", "add", "replace", "test", "frob")
        operation = {"op": name, "path": one(*_POINTERS)}
        if name in {"move", "copy"}:
            operation["from"] = one(*_POINTERS)
        if name in {"add", "replace", "test"} and self._random.random() < 0.95:
            operation["value"] = one(*_VALUES)
        return operation


def plain(patch: Any) -> Any:
    """A patch without the directives of strategic merge."""
    if isinstance(patch, dict):
        return {key: plain(value) for key, value in patch.items() if not key.startswith("$")}
    return [plain(entry) for entry in patch] if isinstance(patch, list) else patch


def settled(obj: Object) -> Object:
    """An object without what every write or a controller changes."""
    metadata = {
        key: value
        for key, value in obj["metadata"].items()
        if key not in {"managedFields", "generation", "resourceVersion"}
    }
    return {**{key: value for key, value in obj.items() if key != "status"}, "metadata": metadata}


def ask(server: RealServer, seed: int, count: int) -> Iterator[Object]:
    """
    The Deployment, then one line for each patch: what a real server makes of it.

    Answers are kept as JSON patches of the Deployment, refusals as their Status. Patches it answers by
    chance, or not at all (some make its handler panic), are left out.
    """
    assert server.request("POST", _DEPLOYMENTS, PATCHED).status == 201
    path = f"{_DEPLOYMENTS}/patched"
    current = settled(server.request("GET", path).json())
    yield current
    patches = Patches(seed)
    for _ in range(count):
        kind, patch = patches.next()
        answers = _answers(server, path, kind, patch)
        if answers and all(answer == answers[0] for answer in answers):
            yield {"kind": kind, "patch": patch, **_kept(current, *answers[0])}
    server.request("PATCH", path, {"metadata": {"finalizers": None}}, content_type=MEDIA_TYPES["merge"])


def _answers(server: RealServer, path: str, kind: str, patch: Any) -> list[tuple[int, Object]]:
    found = []
    for _ in range(TIMES_ASKED):
        try:
            answer = server.request(
                "PATCH", f"{path}?dryRun=All&fieldManager=m", patch, content_type=MEDIA_TYPES[kind]
            )
        except RemoteDisconnected:
            return []
        found.append((answer.status, answer.json()))
        if answer.status == 200:
            break
    return found


def _short(status: Object) -> Object:
    """A Status without the whole object that some messages quote."""
    causes = status.get("details", {}).get("causes")
    short = {**status, "message": shortened(status["message"])}
    if causes:
        found = [{**cause, "message": shortened(cause["message"])} for cause in causes]
        short["details"] = {**status["details"], "causes": found}
    return short


def _kept(current: Object, code: int, answer: Object) -> Object:
    if code != 200:
        return {"code": code, "status": _short(answer)}
    return {"code": 200, "change": list(jsonpatch.make_patch(current, settled(answer)))}


def patched(current: Object, kind: str, patch: Any) -> Object:
    """
    What the sandbox makes of a patch, decoded, defaulted and validated.

    Raises: StatusError, typed.DecodeError.
    """
    resource = builtin("apps", "deployments")
    before = copy.deepcopy((current, patch))
    try:
        merged = _merged(resource, current, kind, patch)
    finally:
        assert (current, patch) == before, "changed what it was given"
    decoded = default_object(resource, typed.decode(resource.schema or {}, merged, typed.Report()))
    new, old = decoded["metadata"], current["metadata"]
    causes = metadata.validate_update(new, old) + validate(resource, decoded, current)
    if causes:
        raise invalid(resource, new.get("name", ""), causes)
    return settled(decoded)


def _merged(resource: ServedResource, current: Object, kind: str, patch: Any) -> Object:
    if kind == "strategic":
        assert resource.schema is not None
        return strategic_merge_patch(current, patch, resource.schema or {})
    return merge_patch(current, patch) if kind == "merge" else json_patch(current, patch)


def check(current: Object, line: Object) -> None:
    """The sandbox does with a line's patch what the real server did."""
    theirs = line.get("status") or jsonpatch.apply_patch(current, line["change"])
    try:
        mine = patched(current, line["kind"], line["patch"])
    except StatusError as refusal:
        mine = _short(refusal.status)
    except typed.DecodeError:
        mine = theirs if line["code"] in {400, 422, 500} else {}
    assert mine == theirs, line
