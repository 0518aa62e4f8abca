"""Requests about custom resources: required members, lists of maps, replicas, versions, stricter schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from support.builders.widgets import CRDS
from support.recorded.scene_steps import define, named, patch, post, put, read, refused, remove
from support.recorded.stories import GROUP, NAMESPACE, Step
from support.servers.api_server import APPLY, JSON_PATCH

_Object = dict[str, Any]

_TEXT: Final[_Object] = {"type": "string"}
_NUMBER: Final[_Object] = {"type": "integer"}
_SHORT: Final[_Object] = {"type": "string", "maxLength": 3}
_RULES: Final = "x-kubernetes-validations"
_STATUS: Final[_Object] = {"subresources": {"status": {}}}


def _object(required: tuple[str, ...] = (), /, **properties: _Object) -> _Object:
    found: _Object = {"type": "object", "properties": properties}
    return {**found, "required": list(required)} if required else found


def _list(items: _Object, *keys: str, kind: str = "") -> _Object:
    found: _Object = {"type": "array", "items": items}
    if keys:
        return {**found, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}
    return {**found, "x-kubernetes-list-type": kind} if kind else found


def _version(name: str, schema: _Object, *, storage: bool = True, **more: Any) -> _Object:
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}, **more}


def _kind(plural: str) -> str:
    return plural[:-1].capitalize()


def _definition(plural: str, *versions: _Object) -> Step:
    group, names = f"{plural}.{GROUP}", {"plural": plural, "kind": _kind(plural)}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": versions}
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    body = {**kind, **named(f"{plural}.{group}"), "spec": spec}
    waits = [f"/apis/{group}/{version['name']}/{plural}" for version in versions]
    return define(CRDS, body, waits)


def _removed(plural: str) -> Step:
    return remove(f"{CRDS}/{plural}.{plural}.{GROUP}")


def _path(plural: str, name: str = "", version: str = "v1") -> str:
    where = f"/apis/{plural}.{GROUP}/{version}/namespaces/{NAMESPACE}/{plural}"
    return f"{where}/{name}" if name else where


def _made(plural: str, name: str, version: str = "v1", **content: Any) -> _Object:
    about = {"apiVersion": f"{plural}.{GROUP}/{version}", "kind": _kind(plural)}
    return {**about, **named(name), **content}


def _new(plural: str, name: str, **content: Any) -> Step:
    return post(_path(plural), _made(plural, name, **content))


def _apply(plural: str, name: str, version: str, manager: str, **spec: Any) -> Step:
    where = f"{_path(plural, name, version)}?force=true&fieldManager={manager}"
    return patch(where, _made(plural, name, version, spec=spec), APPLY)


_WHOLE: Final = ("apiVersion", "kind", "metadata", "spec")
_NAME: Final = _object(name={"type": "string", "maxLength": 3, "pattern": "^[a-y]+$"})
METADATA: Final = [
    _definition("needs", _version("v1", _object(_WHOLE, spec=_object(a=_TEXT), metadata=_NAME))),
    _new("needs", "a", spec={"a": "x"}),
    _new("needs", "abcdef", spec={}),
    _new("needs", "z", spec={}),
    _new("needs", "b"),
    patch(f"{_path('needs', 'ab')}?fieldManager=m", _made("needs", "ab", spec={}), APPLY),
    put(_path("needs", "ab"), _made("needs", "ab", spec={"a": "y"})),
    *(
        post(_path("needs"), {**_made("needs", "r"), "metadata": {"name": "rv", "resourceVersion": version}})
        for version in ("v1", "0", "-3", "5", "007", "18446744073709551616")
    ),
    _removed("needs"),
]

_ENTRY: Final = _object(("name",), name=_TEXT, n=_NUMBER)
_ONE: Final[_Object] = {"name": "a"}
_OTHER: Final[_Object] = {"name": "b"}
_ONES: Final[tuple[list[Any], ...]] = (
    [_ONE, None],
    [None, None],
    [_ONE, "b"],
    [5],
    [True, _ONE, _ONE],
    [["a"]],
    [{}, {}],
    [_ONE] * 5,
    [_ONE, _OTHER, _ONE, _OTHER, _ONE],
    [_ONE, None, _ONE],
    [{"name": None}, {"name": None}],
)
_LISTS: Final[tuple[_Object, ...]] = (
    *({"one": entries} for entries in _ONES),
    {"two": [{"name": "a", "n": 1}] * 4},
    {"two": [{"n": 1, "name": "a"}, {"name": "a", "n": 1}, {"name": "a", "n": 2}]},
    {"set": ["a", "b", "a", "b", "a"]},
    {"set": ["a", None, None]},
)
_LISTED: Final = _object(
    one=_list(_ENTRY, "name"),
    two=_list(_object(("name", "n"), name=_TEXT, n=_NUMBER), "name", "n"),
    set=_list(_TEXT, kind="set"),
)
LISTS: Final = [
    _definition("lists", _version("v1", _object(spec=_LISTED))),
    *(_new("lists", f"l{index}", spec=spec) for index, spec in enumerate(_LISTS)),
    _new("lists", "good", spec={"one": [_ONE]}),
    patch(_path("lists", "good"), {"spec": {"one": [_ONE, None]}}),
    patch(_path("lists", "good"), [{"op": "add", "path": "/spec/one/-", "value": 5}], JSON_PATCH),
    _removed("lists"),
]

_ADDRESS: Final[_Object] = {"format": "ipv4"}
_POD: Final[_Object] = {"apiVersion": "v1", "kind": "Pod"}
_FREE: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final[_Object] = {"type": "object", "x-kubernetes-embedded-resource": True, _FREE: True}
_FORMATTED: Final = _object(
    any={**_TEXT, "anyOf": [_ADDRESS, {"format": "ipv6"}]},
    one={**_TEXT, "oneOf": [_ADDRESS, {"format": "hostname"}]},
    all={**_TEXT, "allOf": [_ADDRESS, {"minLength": 3}]},
    no={**_TEXT, "not": _ADDRESS},
    host={**_TEXT, "format": "hostname"},
    time={**_TEXT, "format": "date-time"},
    small={"type": "number", "format": "float"},
    whole={**_NUMBER, "anyOf": [{"format": "int32"}, {"minimum": 5}]},
    pod=_EMBEDDED,
    pods=_list(_EMBEDDED),
)
_FORMS: Final[dict[str, tuple[Any, ...]]] = {
    "any": ("1.2.3.4", "::1", "no", "", 5),
    "one": ("1.2.3.4", "a.bc", "-", "1.2"),
    "all": ("1.2.3.4", "no", "1"),
    "no": ("1.2.3.4", "no"),
    "host": ("a.b", "a.bc", "1.2", "my-host", "m-host", "12", "x" * 64, "\u00e9.com", "a..bc"),
    "time": (5, True, "x"),
    "small": (1.5, 3.5e38, -1e39, 3.4e38, 1 << 60, "x"),
    "whole": (1, 1 << 40, -(1 << 40)),
    "pod": (
        _POD,
        {},
        {**_POD, "apiVersion": "a/b/c"},
        {**_POD, "apiVersion": ""},
        {**_POD, "apiVersion": 5},
        {**_POD, "kind": "no kind"},
        {**_POD, "metadata": {"labels": {"a b": "c d"}, "name": "x/y", "namespace": "Bad", "nope": 1}},
    ),
    "pods": ([_POD, {}], [{**_POD, "kind": 5}]),
}
_LARGE: Final = (1500, 1534, 1536, 1600)
FORMATS: Final = [
    _definition("forms", _version("v1", _object(spec=_FORMATTED))),
    *(
        _new("forms", f"{name.lower()}{index}", spec={name: value})
        for name, values in _FORMS.items()
        for index, value in enumerate(values)
    ),
    _definition("bigs", _version("v1", {"type": "object", _FREE: True})),
    *(_new("bigs", f"b{size}", a="x" * (size << 10)) for size in _LARGE),
    _new("bigs", "r", spec={"rule": "a && <b>", "list": ["&"], "map": {"&": "x"}}),
    *(
        patch(_path("bigs", "r"), [{"op": "test", "path": f"/spec/{name}", "value": value}], JSON_PATCH)
        for name, value in (("rule", "a && <b>"), ("list", ["&"]), ("map", {"&": "x"}), ("map/&", "x"))
    ),
    *(
        step
        for index, finalizer in enumerate(("a", "a.b", "a.b/c", "foregroundDeletion"))
        for step in (
            post(_path("bigs"), {**_made("bigs", "f"), **named(f"f{index}", finalizers=[finalizer])}),
            patch(_path("bigs", f"f{index}"), {"spec": 1}),
            patch(_path("bigs", "r"), {"metadata": {"finalizers": [finalizer]}}),
            patch(_path("bigs", f"f{index}"), {"metadata": {"finalizers": None}}),
        )
    ),
    patch(_path("bigs", "r"), {"metadata": {"finalizers": None}}),
    _removed("forms"),
    _removed("bigs"),
]

_SCALE: Final = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
_SCALED: Final = _object(spec=_object(n=_NUMBER), status=_object(n=_NUMBER))
_AUTOSCALING: Final = {"apiVersion": "autoscaling/v1", "kind": "Scale"}
SCALES: Final = [
    _definition("scales", _version("v1", _SCALED, subresources={"status": {}, "scale": _SCALE})),
    _new("scales", "a", spec={}),
    read(_path("scales", "a/scale")),
    patch(_path("scales", "a/scale"), {"spec": {"replicas": 3}}),
    read(_path("scales", "a/scale")),
    _new("scales", "b"),
    put(_path("scales", "b/scale"), {**_AUTOSCALING, **named("b"), "spec": {"replicas": 2}}),
    _new("scales", "c"),
    patch(_path("scales", "c/scale"), [{"op": "add", "path": "/spec/replicas", "value": 1}], JSON_PATCH),
    read(_path("scales", "c")),
    _removed("scales"),
]

_OLD: Final = _object(
    spec=_object(
        a=_TEXT,
        old=_TEXT,
        d1={**_TEXT, "default": "alpha"},
        both={**_TEXT, "default": "from alpha"},
        list=_list(_object(x=_TEXT, was=_TEXT)),
    ),
    status=_object(s=_TEXT, was=_TEXT),
)
_NEW: Final = _object(
    spec=_object(
        a=_TEXT,
        new=_TEXT,
        d2={**_NUMBER, "default": 179},
        both={**_TEXT, "default": "from v1"},
        list=_list(_object(x=_TEXT, now=_TEXT, d={**_TEXT, "default": "q"})),
    ),
    status={**_object(s=_TEXT, now=_TEXT), "default": {"s": "none"}},
)
_SPEC: Final = {"a": "1", "old": "o", "new": "n", "list": [{"x": "1", "was": "2", "now": "3"}]}


def _two_versions(plural: str, storage: str) -> list[_Object]:
    return [
        _version(name, schema, storage=name == storage, **_STATUS)
        for name, schema in (("v1alpha1", _OLD), ("v1", _NEW))
    ]


def _through_versions(plural: str, storage: str) -> Iterator[Step]:
    """What becomes of an object of each version that is written by each."""
    yield _definition(plural, *_two_versions(plural, storage))
    for first in ("v1alpha1", "v1"):
        name = f"by-{first}"
        for how in ("Strict", "Warn"):
            body = _made(plural, name, first, spec=_SPEC)
            yield post(f"{_path(plural, version=first)}?fieldValidation={how}", body)
        for version in ("v1alpha1", "v1"):
            where = _path(plural, name, version)
            yield read(where)
            yield patch(where, {"metadata": {"labels": {"x": version}}})
            yield patch(f"{where}?fieldValidation=Warn", {"spec": {"new": version, "old": version}})
            yield patch(f"{where}/status", {"status": {"s": version, "was": version, "now": version}})
            yield _apply(plural, name, version, "m1", list=[{"x": "7"}])
            yield _apply(plural, name, version, "m2", a=version, old="z", new="z")
            yield _apply(plural, name, version, "m3", a=version)
        yield _apply(plural, f"{name}-applied", first, "m1", a="1")
        for version in ("v1", "v1alpha1"):
            yield _apply(plural, f"{name}-applied", version, "m1", a="1")
            yield _apply(plural, f"{name}-applied", version, "m4", a="2")
            yield read(_path(plural, f"{name}-applied", version))
    yield _removed(plural)


VERSIONS: Final = [*_through_versions("olds", "v1alpha1"), *_through_versions("news", "v1")]


def _strict(*, now: bool) -> _Object:
    """A schema, or the stricter one that comes after it."""

    def later(schema: _Object, **more: Any) -> _Object:
        return {**schema, **more} if now else schema

    short = _SHORT if now else _TEXT
    entry = _object(("name",), name=_SHORT, v=short, n=_NUMBER)
    few = [{"rule": "!has(self.n) || self.n < 5", "message": "n below 5"}]
    spec = _object(
        a=short,
        e=later(_TEXT, enum=["x", "y"]),
        f=later(_TEXT, format="ipv4"),
        map={**_list(later(entry, **{_RULES: few}), "name"), "maxItems": 9},
        atoms=_list(short),
        set=_list(short, kind="set"),
        texts={"type": "object", "additionalProperties": short},
        o=later(_object(x=_TEXT, y=short), required=["x"]),
        free={**_object(q=short), _FREE: True},
        twice=_list(entry, *(["name"] if now else [])),
        c=later(
            {**_TEXT, "maxLength": 9}, **{_RULES: [{"rule": "self.startsWith('z')", "message": "z first"}]}
        ),
        t=later(_NUMBER, **{_RULES: [{"rule": "self >= oldSelf", "message": "only up"}]}),
        any=later(_TEXT, anyOf=[{"minLength": 9}, {"pattern": "^k"}]),
    )
    needed = {
        "rule": "has(self.a)",
        "message": "a is needed",
        "fieldPath": ".a",
        "reason": "FieldValueRequired",
    }
    above = [{"rule": "self > 5", "message": "above five"}]
    status = _object(s=short, r=later(_NUMBER, **{_RULES: above}))
    return later(_object(spec=later(spec, **{_RULES: [needed]}), status=status), required=["spec"])


_BAD: Final[_Object] = {
    "a": "toolong",
    "e": "z",
    "f": "no ip",
    "map": [{"name": "one", "v": "toolong", "n": 9}, {"name": "two", "v": "toolong"}],
    "atoms": ["toolong", "ok", "toolong"],
    "set": ["toolong", "ok"],
    "texts": {"k": "toolong", "l": "ok"},
    "o": {"y": "toolong"},
    "free": {"q": "toolong", "r": 1},
    "twice": [{"name": "a"}, {"name": "a"}],
    "c": "abc",
    "t": 5,
    "any": "zz",
}
_CHANGES: Final[dict[str, list[_Object]]] = {
    "a": [{"a": "still toolong"}],
    "e": [{"e": "zz"}, {"e": "x"}, {"e": "z"}],
    "map": [
        {"map": list(reversed(_BAD["map"]))},
        {"map": [*_BAD["map"], {"name": "six"}]},
        {"map": [{"name": "one", "v": "toolong", "n": 8}]},
        {"map": [{"name": "new", "v": "toolong"}]},
    ],
    "atoms": [{"atoms": ["toolong", "ok", "toolong", "ok"]}, {"atoms": ["ok"]}],
    "set": [{"set": ["ok", "toolong"]}],
    "texts": [{"texts": {"z": "ok"}}, {"texts": {"z": "toolong"}}],
    "o": [{"o": {"y": "ok"}}, {"o": {"x": "1"}}, {"o": {"y": "toolong", "x": "2"}}],
    "free": [{"free": {"r": 2}}, {"free": {"q": "toolong2"}}],
    "twice": [
        {"twice": [*_BAD["twice"], {"name": "b"}]},
        {"twice": [{"name": "b"}]},
        {"twice": _BAD["twice"]},
    ],
    "c": [{"c": "abd"}, {"c": "zz"}, {"c": "abc"}],
    "t": [{"t": 4}, {"t": 6}],
    "any": [{"any": "zzz"}, {"any": "k"}],
}


def _kept(name: str) -> Iterator[Step]:
    """Writes that leave alone what the schema refuses by now."""
    where = _path("strays", name)
    yield patch(where, {"metadata": {"labels": {"x": "1"}}})
    yield patch(where, {"metadata": {"finalizers": ["a.b/c"]}})
    yield patch(where, {"metadata": {"finalizers": None}})
    yield patch(f"{where}/status", {"status": {"s": "ok"}})
    yield patch(f"{where}/status", {"status": {"s": "toolong", "r": 2}})
    yield _apply("strays", name, "v1", "m", t=7)
    yield patch(where, {"spec": {"a": "ok"}})
    yield _apply("strays", name, "v1", "m", t=8)
    for spec in _CHANGES.get(name, []):
        yield patch(where, {"spec": spec})


_LOOSE, _STRICT = (_version("v1", _strict(now=now), **_STATUS) for now in (False, True))
RATCHETING: Final = [
    _definition("strays", _LOOSE),
    *(_new("strays", name, spec={name: value}) for name, value in _BAD.items()),
    _new("strays", "all", spec=_BAD),
    _new("strays", "none"),
    *(
        patch(f"{_path('strays', name)}/status", {"status": {"s": "toolong", "r": 1}})
        for name in ("all", "a")
    ),
    patch(f"{CRDS}/strays.strays.{GROUP}", {"spec": {"versions": [_STRICT]}}),
    refused(f"{_path('strays')}?dryRun=All", _made("strays", "new", spec={"a": "toolong"})),
    *(step for name in (*_BAD, "all", "none") for step in _kept(name)),
    patch(_path("strays", "all"), [{"op": "remove", "path": "/spec/a"}], JSON_PATCH),
    patch(_path("strays", "all"), [{"op": "remove", "path": "/spec"}], JSON_PATCH),
    _removed("strays"),
]
