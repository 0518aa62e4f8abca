"""
Told scenes: sequences of requests about one subject each, every one of which is there for its answer.

References and places are filled in as in the stories.
`record.py` asks a real server.
"""

from __future__ import annotations

from typing import Any, Final

from support.recorded.custom_scenes import FORMATS, LISTS, METADATA, RATCHETING, SCALES, VERSIONS
from support.recorded.definition_scenes import CONVERSIONS, DEFINITIONS, EXPRESSIONS, SCHEMAS
from support.recorded.expression_scenes import EXPRESSION_COSTS, RIGHT, WRONG
from support.recorded.expression_values import EXPRESSION_VALUES
from support.recorded.scene_steps import BASE, WIDGETS, named, patch, post, put, read
from support.recorded.service_scenes import SERVICE_CHANGES, SERVICE_PORTS, SERVICES
from support.recorded.stories import GROUP, NAMESPACE, Step
from support.servers.api_server import APPLY

_MAPS: Final = f"{BASE}/configmaps"
_ACCOUNTS: Final = f"{BASE}/serviceaccounts"
_AUTHORIZATION: Final = "/apis/authorization.k8s.io/v1"
_AUTHENTICATION: Final = "/apis/authentication.k8s.io/v1"
_YAML: Final = "application/yaml"
_SYSTEM: Final = {
    "generation": 7,
    "deletionTimestamp": "2001-01-01T00:00:00Z",
    "deletionGracePeriodSeconds": 4,
    "selfLink": "/x",
    "creationTimestamp": "2001-01-01T00:00:00Z",
}


def _widget(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Widget", **named(name), "spec": {"size": 3, **spec}}


def _scaled(name: str, replicas: int, manager: str) -> list[Step]:
    path = f"{WIDGETS}/{name}"
    body = {"spec": {"replicas": replicas}}
    return [patch(f"{path}/scale?fieldManager={manager}", body), read(path)]


def _applied_scale(name: str, replicas: int, manager: str, query: str = "") -> list[Step]:
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", **named(name), "spec": {"replicas": replicas}}
    path = f"{WIDGETS}/{name}"
    return [patch(f"{path}/scale?fieldManager={manager}{query}", scale, APPLY), read(path)]


_OWNERS: Final = [
    post(f"{WIDGETS}?fieldManager=m1", _widget("x", replicas=0)),
    *_scaled("x", 1, "m2"),
    *_scaled("x", 1, "m2"),
    *_scaled("x", 0, "m2"),
    *_scaled("x", 1, "m3"),
    post(f"{WIDGETS}?fieldManager=m1", _widget("y", replicas=0)),
    *_scaled("y", 0, "m1"),
    *_scaled("y", 0, "m1"),
    *_scaled("y", 1, "m1"),
    post(f"{WIDGETS}?fieldManager=m1", _widget("z", replicas=2)),
    *_scaled("z", 3, "m4"),
    *_applied_scale("z", 3, "m6"),
    *_applied_scale("z", 4, "m6"),
    *_applied_scale("z", 4, "m6", "&force=true"),
    *_scaled("z", 6, "m7"),
    patch(f"{WIDGETS}/w?fieldManager=m1", _widget("w", replicas=1), APPLY),
    *_scaled("w", 0, "m1"),
    *_scaled("w", 2, "m2"),
    *_applied_scale("w", 1, "m1"),
    patch(f"{WIDGETS}/w?fieldManager=m1", _widget("w", replicas=1), APPLY),
]

_TEXTS: Final = (
    "metadata:\n  name: a\n  name: b\n",
    "metadata:\n  name: why\ndata:\n  a: x\nmetadata:\n  name: z\n  bogus: 1\ndata:\n\n   a: x\n   a: z\n",
    "metadata: {name: why, name: x}\ndata: {1: a, true: b, 1.5: d, 0x10: e}\n",
    "metadata: {name: why}\ndata: {~: f}",
    "metadata: {name: why}\ndata: {b: 1e3}",
    "metadata: {name: why}\ndata: {b: 0o10}",
    "metadata: {name: why}\ndata: {b: 12:30:45}",
    "metadata: {name: why}\ndata: {b: .inf}",
    "metadata: {name: why}\n---\nmetadata: {name: z}\n",
    "metadata: !foo {name: why}\n",
    "a: *b\n",
)
_TWICE: Final = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: two\n  name: two\n"

_TEXT_BODIES: Final = [
    *(
        post(f"{_MAPS}?dryRun=All&fieldValidation={how}", text, _YAML)
        for text in _TEXTS
        for how in ("Warn", "Strict")
    ),
    patch(f"{_MAPS}/two?fieldManager=a", _TWICE, APPLY),
    patch(f"{_MAPS}/two?fieldManager=a&fieldValidation=Strict", _TWICE, APPLY),
    patch(f"{_MAPS}/two?fieldManager=a&fieldValidation=Ignore", _TWICE, APPLY),
    post(f"{WIDGETS}?dryRun=All", {**_widget("n"), "apiVersion": None}),
]

_TOKENS: Final = [
    *(
        post(f"{_ACCOUNTS}/default/token", {"spec": spec})
        for spec in (
            {},
            {"expirationSeconds": 5},
            {"expirationSeconds": 1 << 40},
            {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "zz"}},
            {"boundObjectRef": {"kind": "ConfigMap", "apiVersion": "v1", "name": "zz"}},
            {"audiences": ["me"], "expirationSeconds": 900},
        )
    ),
    post(f"{_ACCOUNTS}/nope/token", {"spec": {}}),
    post(f"{_ACCOUNTS}/default/token", {**named("other"), "spec": {}}),
    read(f"{_ACCOUNTS}/default/token"),
]

_REVIEWS: Final = [
    post(f"{_AUTHORIZATION}/subjectaccessreviews", {"spec": {}}),
    post(
        f"{_AUTHORIZATION}/subjectaccessreviews",
        {"spec": {"user": "x", "resourceAttributes": {"verb": "get", "resource": "pods"}}},
    ),
    post(
        f"{_AUTHORIZATION}/subjectaccessreviews",
        {
            "spec": {
                "user": "x",
                "resourceAttributes": {"verb": "get"},
                "nonResourceAttributes": {"path": "/"},
            }
        },
    ),
    post(
        f"{_AUTHORIZATION}/namespaces/{NAMESPACE}/localsubjectaccessreviews",
        {"spec": {"user": "x", "resourceAttributes": {"verb": "get", "namespace": "z"}}},
    ),
    post(f"{_AUTHORIZATION}/selfsubjectrulesreviews", {"spec": {}}),
    post(f"{_AUTHENTICATION}/tokenreviews", {"spec": {}}),
    post(f"{_AUTHENTICATION}/tokenreviews", {"spec": {"token": "x"}}),
    post(
        f"{_AUTHORIZATION}/selfsubjectaccessreviews",
        {**named("x"), "spec": {"resourceAttributes": {"resource": "*", "verb": "*"}}},
    ),
]

_CREATED: Final = [
    step
    for path, body in (
        (_MAPS, {}),
        (f"{BASE}/services", {"spec": {"ports": [{"port": 80}]}}),
        (f"{BASE}/limitranges", {"spec": {"limits": []}}),
        (f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}/roles", {"rules": []}),
        (
            f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices",
            {"addressType": "IPv4", "endpoints": []},
        ),
        (f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases", {"spec": {}}),
    )
    for step in (
        post(f"{path}?dryRun=All", {"metadata": {"name": "g", **_SYSTEM}, **body}),
        put(f"{path}/g?dryRun=All", {"metadata": {"name": "g", **_SYSTEM}, **body}),
    )
]
_REFUSED: Final = [
    patch(
        f"{_MAPS}/applied?fieldManager=a",
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied", "resourceVersion": "5"}},
        APPLY,
    ),
    post("/api/v1/namespaces?dryRun=All", named("a.b")),
    post(f"{_MAPS}?dryRun=All", {**named("long"), "data": {"a": "x" * 1_050_000}}),
    post("/apis/scheduling.k8s.io/v1/priorityclasses?dryRun=All", {**named("system-x"), "value": 20}),
    post(
        f"{BASE}/secrets",
        {
            **named("u"),
            "type": "kubernetes.io/dockerconfigjson",
            "stringData": {".dockerconfigjson": "x"},
        },
    ),
]

_PODS: Final = f"{BASE}/pods"
_WAITING: Final = {"nodeName": "", "schedulingGates": [{"name": "example.com/wait"}]}
_POD_REQUESTS: Final = [
    post(_PODS, {**named("q"), "spec": {**_WAITING, "containers": [{"name": "c", "image": "x"}]}}),
    post(
        f"{_PODS}/q/eviction",
        {"apiVersion": "policy/v1", "kind": "Eviction", **named("other")},
    ),
    post(f"{_PODS}/nope/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", **named("nope")}),
    post(f"{_PODS}/q/eviction?dryRun=All", {"apiVersion": "policy/v1", "kind": "Eviction", **named("q")}),
    post(f"{_PODS}/q/binding", {**named("z"), "target": {"kind": "Node", "name": "n"}}),
    post(f"{_PODS}/q/binding", {**named("q"), "target": {"kind": "Node", "name": ""}}),
    post(f"{_PODS}/q/binding", {**named("q"), "target": {"kind": "Pod", "name": "n"}}),
    post(f"{_PODS}/q/binding", {**named("q"), "target": {"kind": "Pod"}}),
    patch(f"{_PODS}/q/ephemeralcontainers", {"spec": {"ephemeralContainers": [{"name": "c", "image": "x"}]}}),
    post(f"{_PODS}/q/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", **named("q")}),
    read(f"{_PODS}/q"),
]

SCENES: Final[dict[str, list[Step]]] = {
    "created": [*_CREATED, *_REFUSED],
    "conversions": CONVERSIONS,
    "custom formats": FORMATS,
    "custom lists": LISTS,
    "custom metadata": METADATA,
    "custom ratcheting": RATCHETING,
    "custom scales": SCALES,
    "custom versions": VERSIONS,
    "definitions": DEFINITIONS,
    "expressions": EXPRESSIONS,
    "right expressions": RIGHT,
    "wrong expressions": WRONG,
    "costs of expressions": EXPRESSION_COSTS,
    "values of expressions": EXPRESSION_VALUES,
    "owners of replicas": _OWNERS,
    "pods": _POD_REQUESTS,
    "reviews": _REVIEWS,
    "schemas": SCHEMAS,
    "service changes": SERVICE_CHANGES,
    "service ports": SERVICE_PORTS,
    "services": SERVICES,
    "text bodies": _TEXT_BODIES,
    "tokens": _TOKENS,
}
"""The requests of each scene."""
