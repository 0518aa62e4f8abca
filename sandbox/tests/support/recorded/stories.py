"""
Random stories of requests, as a user who tries everything sends them to a server.

A story is a function of its subject and seed. References like `${rv:a}` stand for values in the answers;
the player of the story fills them in.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

from support.servers.api_server import APPLY, JSON_PATCH, MERGE, STRATEGIC, Object

GROUP: Final = "STORYGROUP"
NAMESPACE: Final = "STORYNAMESPACE"
LENGTH: Final = 30
SEEDS: Final = range(6)
"""The stories whose answers are kept."""
_NAMES: Final = ("a", "b", "c")
_MANAGERS: Final = ("m1", "m2", "m3")
_ODD_VALUES: Final[tuple[Any, ...]] = (
    None,
    True,
    5,
    -1,
    1.5,
    "",
    "x",
    "UPPER_case!",
    [],
    ["x"],
    [{}],
    {},
    {"x": "y"},
)
_LABELS: Final[tuple[Object, ...]] = (
    {"l": "1"},
    {"l": "2"},
    {"l": "1", "m": "x"},
    {"m": ""},
    {"bad key!": "v"},
    {"l": "bad v!"},
    {},
)


@dataclass(frozen=True)
class Step:
    """
    One request; body is JSON unless it is text.

    waits are paths that are to be served before the next one; until is the status up to which it is repeated.
    """

    method: str
    path: str
    body: Any = None
    content_type: str = "application/json"
    accept: str = "application/json"
    waits: tuple[str, ...] = ()
    until: int = 0


@dataclass(frozen=True)
class Subject:
    """A kind to make stories about; new makes an object's fields beside its metadata."""

    path: str
    api_version: str
    kind: str
    new: Callable[[random.Random], Object]
    subresources: tuple[str, ...] = ()
    selectors: tuple[str, ...] = ()
    strategic: bool = True


def _config_map(chance: random.Random) -> Object:
    found: Object = {"data": {key: chance.choice("12") for key in chance.sample("xyz", chance.randint(0, 3))}}
    if chance.random() < 0.2:
        found["binaryData"] = {"bin": chance.choice(["AAE=", "not base64", ""])}
    if chance.random() < 0.05:
        found["immutable"] = True
    return found


def _service(chance: random.Random) -> Object:
    ports = [
        {"name": f"p{number}", "port": number}
        for number in chance.sample((80, 443, 53), chance.randint(1, 3))
    ]
    if chance.random() < 0.3:
        ports[0]["targetPort"] = chance.choice([8080, "http", 0, "BAD_name"])
    if chance.random() < 0.2:
        ports[0]["protocol"] = chance.choice(["UDP", "SCTP", "ICMP"])
    spec: Object = {"ports": ports}
    if chance.random() < 0.5:
        spec["selector"] = {"app": chance.choice("xy")}
    if chance.random() < 0.4:
        # one without a selector has two families, which no single-stack cluster takes back
        spec |= {"clusterIP": chance.choice(["None", "None", "not-an-ip"]), "selector": {"app": "x"}}
    if chance.random() < 0.3:
        spec["type"] = chance.choice(["ClusterIP", "ExternalName", "Odd"])
    if chance.random() < 0.2:
        spec["sessionAffinity"] = chance.choice(["ClientIP", "Odd"])
    return {"spec": spec}


def _template(chance: random.Random) -> Object:
    names = chance.sample(("main", "sides", "aux"), chance.randint(1, 2))
    containers: list[Object] = [
        {"name": name, "image": f"example.com/{name}:{chance.choice('12')}"} for name in names
    ]
    if chance.random() < 0.4:
        containers[0]["ports"] = [{"containerPort": 80 + len(names[0]) + chance.choice([0, 10])}]
    if chance.random() < 0.4:
        containers[0]["env"] = [
            {"name": name, "value": chance.choice("12")} for name in chance.sample("AB", 2)
        ]
    if chance.random() < 0.3:
        containers[0]["resources"] = {"limits": {"cpu": chance.choice(["1", "0.5", "100m"])}}
    return {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": containers}}


def _pod_template(chance: random.Random) -> Object:
    return {"template": _template(chance)}


def _deployment(chance: random.Random) -> Object:
    spec: Object = {
        "replicas": chance.choice([0, 0, 0, -1]),
        "selector": {"matchLabels": {"app": chance.choice("xxxxy")}},
        "template": _template(chance),
        "paused": True,
    }
    if chance.random() < 0.3:
        spec["strategy"] = chance.choice(
            [
                {"type": "Recreate"},
                {"rollingUpdate": {"maxSurge": "30%"}},
                {"rollingUpdate": {"maxSurge": "x"}},
            ]
        )
    return {"spec": spec}


def _widget(chance: random.Random) -> Object:
    spec: Object = {"size": chance.choice([1, 2, 3, 50, 0, 101])}
    choices: dict[str, Sequence[Any]] = {
        "color": ("red", "green", "pink", None),
        "replicas": (1, 2, -1),
        "fixed": ("f", "g"),
        "free": ({"any": 1}, {"any": {"x": [1]}}),
        "port": (80, "http", True),
        "nested": ({"mode": "m"}, {}, {"unknown": 1}),
        "tags": (["a", "b"], ["b", "c"], ["a", "a"]),
        "unknown": (1,),
    }
    for name in chance.sample(sorted(choices), chance.randint(0, 3)):
        spec[name] = chance.choice(choices[name])
    return {"spec": spec}


SUBJECTS: Final = {
    "configmaps": Subject(f"/api/v1/namespaces/{NAMESPACE}/configmaps", "v1", "ConfigMap", _config_map),
    "services": Subject(
        f"/api/v1/namespaces/{NAMESPACE}/services",
        "v1",
        "Service",
        _service,
        ("status",),
        ("spec.type=ClusterIP",),
    ),
    "podtemplates": Subject(
        f"/api/v1/namespaces/{NAMESPACE}/podtemplates", "v1", "PodTemplate", _pod_template
    ),
    "deployments": Subject(
        f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments",
        "apps/v1",
        "Deployment",
        _deployment,
        ("status", "scale"),
    ),
    "widgets": Subject(
        f"/apis/{GROUP}/v1/namespaces/{NAMESPACE}/widgets",
        f"{GROUP}/v1",
        "Widget",
        _widget,
        ("status", "scale"),
        ("spec.color=red", "spec.size=3"),
        strategic=False,
    ),
}


@dataclass
class _Teller:
    """Makes up one story."""

    subject: Subject
    chance: random.Random
    dry: bool = False
    steps: list[Step] = field(default_factory=list)

    def one(self, *choices: Any) -> Any:
        return copy.deepcopy(self.chance.choice(choices))

    def maybe(self, odds: float) -> bool:
        return self.chance.random() < odds

    def name(self) -> str:
        return self.chance.choice(_NAMES)

    def tell(self, length: int) -> list[Step]:
        chapters: tuple[Callable[[], Step], ...] = (
            self.create,
            self.create,
            self.get,
            self.update,
            self.update,
            self.patch,
            self.patch,
            self.patch,
            self.apply,
            self.apply,
            self.list,
            self.list,
            self.delete,
            self.oddity,
        )
        if self.subject.subresources:
            chapters += (self.subresource,)
        for name in _NAMES[:2]:
            self.steps.append(Step("POST", self.subject.path + self.query(), self.object(name, odd=False)))
        while len(self.steps) < length:
            self.steps.append(self.chance.choice(chapters)())
        return self.steps

    def object(self, name: str, *, odd: bool = True) -> Object:
        metadata: Object = {"name": name}
        if self.maybe(0.5):
            metadata["labels"] = self.one(*(_LABELS if odd else _LABELS[:3]))
        if odd and self.maybe(0.2):
            metadata["annotations"] = self.one({"n": "1"}, {"n": "2"}, {"bad key!": ""}, {})
        if odd and self.maybe(0.1):
            metadata["finalizers"] = self.one(["example.org/f"], ["bad finalizer"], [])
        found = {"apiVersion": self.subject.api_version, "kind": self.subject.kind, "metadata": metadata}
        found |= self.subject.new(self.chance)
        return self.bent(found) if odd and self.maybe(0.25) else found

    def bent(self, obj: Object) -> Object:
        """One member changed into something else."""
        places: list[tuple[Any, Any]] = []

        def look(value: Any) -> None:
            entries = value.items() if isinstance(value, dict) else enumerate(value)
            for key, entry in entries:
                places.append((value, key))
                if isinstance(entry, dict | list):
                    look(entry)

        look(obj)
        holder, key = self.chance.choice(places)
        if isinstance(holder, dict) and self.maybe(0.3):
            holder["bogus"] = 1
        else:
            holder[key] = self.one(*_ODD_VALUES)
        return obj

    def query(self, **more: str) -> str:
        found = dict(more)
        if self.maybe(0.5):
            found["fieldManager"] = self.one(*_MANAGERS)
        if self.maybe(0.3):
            found["fieldValidation"] = self.one("Strict", "Warn", "Ignore", "Strict", "strict")
        if self.dry or self.maybe(0.1):
            found["dryRun"] = "All" if self.dry else self.one("All", "All", "Some", "")
        return f"?{urlencode(found)}" if found else ""

    def create(self) -> Step:
        obj = self.object(self.name())
        metadata = obj.get("metadata")
        if self.maybe(0.1) and isinstance(metadata, dict):
            metadata |= self.one(
                {"namespace": "other"},
                {"namespace": NAMESPACE},
                {"resourceVersion": "5"},
                {"uid": "11111111-2222-3333-4444-555555555555", "generation": 7},
                {"deletionTimestamp": "2001-01-01T00:00:00Z"},
                {"name": "Bad_Name"},
                {"name": ""},
                {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x"}]},
                {"managedFields": [{"manager": "z"}]},
            )
        return Step("POST", self.subject.path + self.query(), obj)

    def get(self) -> Step:
        query = self.one("", "", "?resourceVersion=0", "?resourceVersion=abc", "?resourceVersion=${rv:a}")
        accept = self.one(
            "application/json",
            "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
            "application/json;as=Table;v=v1;g=meta.k8s.io",
            "text/html",
        )
        return Step("GET", f"{self.subject.path}/{self.name()}{query}", accept=accept)

    def update(self) -> Step:
        name = self.name()
        obj = self.object(name)
        metadata = obj.get("metadata")
        if isinstance(metadata, dict):
            version = self.one(
                f"${{rv:{name}}}", f"${{rv:{name}}}", f"${{rv:{name}}}", "${first:a}", "", "0", "abc"
            )
            if version:
                metadata["resourceVersion"] = version
            if self.maybe(0.1):
                metadata |= self.one(
                    {"name": "other"},
                    {"namespace": "other"},
                    {"uid": f"${{uid:{name}}}"},
                    {"uid": "11111111-2222-3333-4444-555555555555"},
                    {"generation": 99},
                    {"finalizers": ["example.org/late"]},
                )
        return Step("PUT", f"{self.subject.path}/{name}{self.query()}", obj)

    def patch(self) -> Step:
        name = self.name()
        path = f"{self.subject.path}/{name}{self.query()}"
        kind = self.one(MERGE, MERGE, STRATEGIC, JSON_PATCH)
        if kind == JSON_PATCH:
            return Step("PATCH", path, self.operations(), kind)
        change = self.object(name)
        for key in ("apiVersion", "kind"):
            if self.maybe(0.8):
                change.pop(key, None)
        metadata = change.get("metadata")
        if isinstance(metadata, dict):
            if self.maybe(0.8):
                metadata.pop("name", None)
            if self.maybe(0.2):
                metadata |= self.one(
                    {"resourceVersion": f"${{rv:{name}}}"},
                    {"resourceVersion": "${first:a}"},
                    {"finalizers": None},
                    {"labels": None},
                    {"labels": {"l": None}},
                    {"name": "other"},
                    {"deletionGracePeriodSeconds": 5},
                )
        for key in self.chance.sample(sorted(change), self.chance.randint(0, max(0, len(change) - 1))):
            if key != "metadata":
                change.pop(key)
        return Step("PATCH", path, change, kind)

    def operations(self) -> list[Object]:
        operations: list[Object] = [
            {"op": "add", "path": "/metadata/labels", "value": {"j": "1"}},
            {"op": "add", "path": "/metadata/labels/l", "value": self.one("1", "2", 3)},
            {"op": "remove", "path": "/metadata/labels/l"},
            {"op": "replace", "path": "/metadata/name", "value": "other"},
            {"op": "test", "path": "/metadata/name", "value": "a"},
            {"op": "replace", "path": "/data/x", "value": "9"},
            {"op": "replace", "path": "/spec/size", "value": self.one(4, 0, "x")},
            {"op": "add", "path": "/spec/tags/-", "value": "z"},
            {"op": "remove", "path": "/metadata/finalizers"},
            {"op": "add", "path": "/metadata/resourceVersion", "value": "${first:a}"},
            {"op": "copy", "from": "/metadata/name", "path": "/metadata/annotations"},
            {"op": "frob", "path": "/metadata/labels"},
        ]
        return self.chance.sample(operations, self.chance.randint(1, 2))

    def apply(self) -> Step:
        name = self.name()
        obj = self.object(name)
        query = {"fieldManager": self.one(*_MANAGERS)} if self.maybe(0.95) else {}
        if self.maybe(0.3):
            query["force"] = self.one("true", "true", "false", "maybe", "1")
        if self.dry or self.maybe(0.1):
            query["dryRun"] = "All"
        if self.maybe(0.2):
            query["fieldValidation"] = self.one("Strict", "Ignore")
        where = f"{self.subject.path}/{name}"
        return Step("PATCH", f"{where}?{urlencode(query)}", obj, APPLY)

    def list(self) -> Step:
        query: dict[str, str] = {}
        if self.maybe(0.5):
            query["labelSelector"] = self.one(
                "l=1", "l in (1,2)", "!l", "l,m!=x", "l=1,", "==", "l in 1", "l>0"
            )
        if self.maybe(0.2):
            query["fieldSelector"] = self.one(
                "metadata.name=a", "metadata.name!=a", "spec.nosuch=1", "=", *self.subject.selectors
            )
        if self.maybe(0.4):
            query["limit"] = self.one("1", "2", "500", "0", "-1", "x")
        if self.maybe(0.3):
            query["resourceVersion"] = self.one("0", "abc", "${rv:a}", "${first:a}", "99999999999")
        if self.maybe(0.2):
            query["resourceVersionMatch"] = self.one("Exact", "NotOlderThan", "Odd")
        if self.maybe(0.1):
            query["continue"] = self.one("${continue}", "garbage")
        return Step("GET", f"{self.subject.path}?{_query(query)}")

    def delete(self) -> Step:
        query: dict[str, str] = {}
        if self.maybe(0.2):
            # the garbage collector would take part in the others
            query["propagationPolicy"] = self.one("Background", "Odd")
            if self.maybe(0.3):
                query |= {"propagationPolicy": self.one("Foreground", "Orphan"), "dryRun": "All"}
        if self.maybe(0.2):
            query["gracePeriodSeconds"] = self.one("0", "5", "-1", "x")
        if self.dry or self.maybe(0.1):
            query["dryRun"] = self.one("All", "Some") if not self.dry else "All"
        name = self.name()
        body = None
        if self.maybe(0.4):
            body = self.one(
                {"propagationPolicy": "Background"},
                {"propagationPolicy": "Odd"},
                {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": f"${{uid:{name}}}"}},
                {"preconditions": {"uid": "11111111-2222-3333-4444-555555555555"}},
                {"preconditions": {"resourceVersion": f"${{rv:{name}}}"}},
                {"preconditions": {"resourceVersion": "${first:a}"}},
                {"gracePeriodSeconds": "x"},
                {"kind": "Status"},
                {"orphanDependents": False, "propagationPolicy": "Background"},
                {"bogus": 1},
            )
        where = self.subject.path if self.maybe(0.1) else f"{self.subject.path}/{name}"
        if where == self.subject.path:
            query["labelSelector"] = self.one("l=2", "==")
        return Step("DELETE", f"{where}?{_query(query)}" if query else where, body)

    def subresource(self) -> Step:
        name, what = self.name(), self.chance.choice(self.subject.subresources)
        path = f"{self.subject.path}/{name}/{what}"
        dry = "?dryRun=All" if self.dry else ""
        method = self.one("GET", "PATCH", "PATCH", "PUT", "DELETE", "POST")
        if method == "PUT" and self.subject.kind == "Service":
            method = "GET"  # it creates half a Service if there is none
        if method == "GET":
            return Step("GET", path)
        if what == "scale":
            body: Object = {"spec": {"replicas": self.one(0, 1, 3, -1, "x", None)}}
        else:
            body = {
                "status": self.one({"phase": "p"}, {"replicas": 2}, {"replicas": "x"}, {}, None, {"odd": 1})
            }
        if method == "PATCH":
            return Step("PATCH", path + dry, body, self.one(MERGE, MERGE, STRATEGIC))
        about = {"metadata": {"name": name, "resourceVersion": self.one(f"${{rv:{name}}}", "${first:a}")}}
        if what == "scale":
            kind = {"apiVersion": "autoscaling/v1", "kind": self.one("Scale", "Odd")}
        else:
            kind = {"apiVersion": self.subject.api_version, "kind": self.subject.kind}
            body = {**self.subject.new(self.chance), **body}
        return Step(method, path + dry, {**kind, **about, **body})

    def oddity(self) -> Step:
        path, name = self.subject.path, self.name()
        text = json.dumps({"apiVersion": self.subject.api_version, "kind": self.subject.kind, "metadata": {}})
        dry = "?dryRun=All"
        steps = [
            Step("POST", path + dry, "{not json"),
            Step("POST", path + dry, ""),
            Step("POST", path + dry, "[]"),
            Step("POST", path + dry, "null"),
            Step("POST", path + dry, '"text"'),
            Step("POST", path + dry, text[:-1] + ',"kind":"Twice"}'),
            Step("POST", path + dry, text, "text/plain"),
            Step("POST", path + dry, text, "application/yaml"),
            Step("POST", path + dry, "a: [b", "application/yaml"),
            Step("POST", path + dry, text, "application/json; charset=utf-8"),
            Step("POST", path + dry, text, MERGE),
            Step("PUT", f"{path}/{name}{dry}", "{"),
            Step("PUT", f"{path}/{name}{dry}", text, "text/plain"),
            Step("PUT", path, text),
            Step("POST", f"{path}/{name}", text),
            Step("PATCH", path, {}, MERGE),
            Step("PATCH", f"{path}/{name}{dry}", "{", MERGE),
            Step("PATCH", f"{path}/{name}{dry}", "[]", MERGE),
            Step("PATCH", f"{path}/{name}{dry}", "5", JSON_PATCH),
            Step("PATCH", f"{path}/{name}{dry}", "{", JSON_PATCH),
            Step("PATCH", f"{path}/{name}{dry}", {}, "application/json"),
            Step("PATCH", f"{path}/{name}{dry}", {}, "text/plain"),
            Step("PATCH", f"{path}/{name}{dry}&fieldManager=m", "a: [b", APPLY),
            Step("PATCH", f"{path}/{name}{dry}&fieldManager=m", "", APPLY),
            Step("PATCH", f"{path}/{name}?fieldManager={'m' * 129}", {}, APPLY),
            Step("PATCH", f"{path}/{name}?force=true&dryRun=All", {}, MERGE),
            Step("GET", f"{path}/{name}/nosuch"),
            Step("GET", f"{path}/{name}/status/more"),
            Step("OPTIONS", f"{path}/{name}"),
            Step("GET", f"{path}/{name}", accept="application/json;as=Nope;v=v1;g=meta.k8s.io"),
            Step("GET", f"{path}/{name}?pretty=true"),
            Step("DELETE", f"{path}/{name}{dry}", "{"),
            Step("DELETE", f"{path}/{name}{dry}", text, "text/plain"),
        ]
        return self.chance.choice(steps)


def _query(query: dict[str, str]) -> str:
    # references are filled in, not quoted
    return urlencode(query, safe="${}:")


def story(subject: str, seed: int, length: int = LENGTH) -> list[Step]:
    """The requests of one story; a controller writes to Deployments, so theirs change nothing."""
    teller = _Teller(SUBJECTS[subject], random.Random(f"{subject} {seed}"), dry=subject == "deployments")
    return teller.tell(length)
