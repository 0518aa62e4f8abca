"""Requests about definitions of custom resources: allowed and refused schemas, and the other fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from support.builders.widgets import CRDS
from support.recorded.scene_steps import named, post
from support.recorded.stories import GROUP, Step

_Object = dict[str, Any]

_GROUP: Final = f"x.{GROUP}"
_TEXT: Final[_Object] = {"type": "string"}
_NUMBER: Final[_Object] = {"type": "integer"}
_TEXTS: Final[_Object] = {"type": "array", "items": _TEXT}
_LIST: Final = "x-kubernetes-list-type"
_KEYS: Final = "x-kubernetes-list-map-keys"
_MAP: Final = "x-kubernetes-map-type"
_EITHER: Final = "x-kubernetes-int-or-string"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_FREE: Final = "x-kubernetes-preserve-unknown-fields"
_RULES: Final = "x-kubernetes-validations"


def _object(**properties: _Object) -> _Object:
    return {"type": "object", "properties": properties}


def definition_of(schema: _Object, group: str = _GROUP, **version: Any) -> _Object:
    """A definition with one version."""
    only = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    names = {"plural": "things", "kind": "Thing"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        **named(f"things.{group}"),
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [only]},
    }


def try_out(definition: _Object) -> Step:
    """A request that makes nothing."""
    return post(f"{CRDS}?dryRun=All", definition)


def _fields(nodes: Iterable[_Object]) -> list[Step]:
    """A definition for each node, which is the schema of a field."""
    return [try_out(definition_of(_object(spec=_object(a=node)))) for node in nodes]


def _versions(**version: Any) -> Step:
    return try_out(definition_of(_object(spec=_object(r=_NUMBER, s=_TEXT)), **version))


def _changed(change: Callable[[_Object], Any]) -> Step:
    definition = definition_of(_object(spec=_object(r=_NUMBER, s=_TEXT)))
    change(definition["spec"])
    return try_out(definition)


def _converting(conversion: _Object) -> Step:
    return _changed(lambda spec: spec.update(conversion=conversion))


def _item(**node: Any) -> _Object:
    return {"type": "array", "items": node}


SCHEMAS: Final = _fields(
    (
        {**_item(**_object(n=_TEXT)), _LIST: "map", _KEYS: ["n"]},
        {**_item(**_object(n={"type": "string", "nullable": True})), _LIST: "map", _KEYS: ["n"]},
        {**_item(**_object(n={"type": "object"})), _LIST: "map", _KEYS: ["n", "n", "z"]},
        {**_TEXTS, _LIST: "map"},
        {**_TEXTS, _LIST: "odd"},
        {"type": "array", _LIST: "set"},
        {**_item(**_object(n=_TEXT)), _LIST: "set"},
        {**_item(type="string", nullable=True), _LIST: "set"},
        {"type": "string", _LIST: "set"},
        {**_TEXTS, _KEYS: ["x"]},
        {"type": "object", _MAP: "odd"},
        {"type": "string", _MAP: "atomic"},
        {"anyOf": [_NUMBER, _TEXT], _EITHER: True},
        {"anyOf": [_TEXT, _NUMBER], _EITHER: True},
        {"allOf": [{"anyOf": [_NUMBER, _TEXT]}, {"pattern": "x"}], _EITHER: True},
        {"anyOf": [_TEXT]},
        {"type": "string", "anyOf": [{"maxLength": 5, "title": "x", "description": "y"}]},
        {"type": "string", "anyOf": [{"nullable": True, _FREE: True}]},
        {"type": "string", "anyOf": [{"default": "x", _EITHER: True, _EMBEDDED: True}]},
        {"type": "string", "allOf": [{"pattern": "^a"}, {"default": "x"}]},
        {**_object(x=_TEXT), "oneOf": [{"properties": {"z": _TEXT}}]},
        {**_object(b=_TEXT), "not": {"properties": {"b": {"type": "string"}}}},
        {"type": "object", "additionalProperties": _TEXT, "anyOf": [{"additionalProperties": _TEXT}]},
        {"type": "object", "additionalProperties": False},
        {**_object(x=_TEXT), "additionalProperties": False},
        {**_object(x=_TEXT), "additionalProperties": True},
        {**_object(x=_TEXT), "additionalProperties": _TEXT},
        {"type": "object", _EMBEDDED: True},
        {"type": "string", _EMBEDDED: True},
        {"type": "string", "format": "odd"},
        {"type": "null"},
        {"type": "foo"},
        {"$ref": "#/x"},
        {"type": "array"},
        {"type": "array", "items": [_TEXT]},
        {**_TEXTS, "uniqueItems": True},
        {"type": "string", "$schema": "x"},
        *(
            {"type": "string", "pattern": pattern}
            for pattern in ("(", "[a", "*a", "a**", "a)", "(?=a)", "\\", "a{2,1}", "\\q", "[b-a]", "(a)\\1")
        ),
        *({"type": "string", "pattern": pattern} for pattern in ("(?<n>x)", "\\pL\\z", "[[:alpha:]]+")),
        *({"type": kind, "default": 5} for kind in ("string", "boolean", "array", "object", "number")),
        {"type": "integer", "default": 5, "maximum": 3},
        {"type": "string", "enum": ["a", "b"], "default": "c"},
        {"type": "string", "maxLength": 1, "default": "xx"},
        {"type": "string", "pattern": "^a", "default": "b"},
        {"type": "string", "format": "date-time", "default": "x"},
        {**_object(y=_TEXT), "default": {"z": 1}},
        {**_object(y=_TEXT), "default": {"y": 5}},
        {**_object(y=_TEXT), "default": {}, "required": ["y"]},
        {"type": "object", "additionalProperties": _NUMBER, "default": {"x": "y"}},
        {**_TEXTS, "default": [1, "x"]},
        {**_TEXTS, "default": ["a", "b"], "maxItems": 1},
        {"type": "object", _EMBEDDED: True, _FREE: True, "default": {"x": 1}},
    )
)

EXPRESSIONS: Final = _fields(
    (
        *(
            {"type": "integer", _RULES: [{"rule": "self > 3", **more}]}
            for more in (
                {},
                {"message": " "},
                {"message": "a\nb"},
                {"messageExpression": " "},
                {"reason": "Odd"},
                {"fieldPath": ".x"},
                {"optionalOldSelf": True},
            )
        ),
        {"type": "integer", _RULES: [{"rule": ""}]},
        {"type": "integer", _RULES: [{"rule": "  "}]},
        {"type": "string", _RULES: [{"rule": "self ==\n 'x'"}]},
        {"type": "string", "default": "abcd", _RULES: [{"rule": "size(self) < 3"}]},
        *(
            {**_object(b=_TEXT), _RULES: [{"rule": "self.b == ''", "fieldPath": path}]}
            for path in (".b", "b", ".z", "", "['b']", ".b\n")
        ),
        *(
            {
                **_item(type="string", maxLength=5, **{_RULES: [{"rule": "self == oldSelf"}]}),
                "maxItems": 5,
                _LIST: kind,
            }
            for kind in ("atomic", "set")
        ),
        {
            "type": "object",
            "maxProperties": 5,
            "additionalProperties": {
                "type": "string",
                "maxLength": 5,
                _RULES: [{"rule": "self == oldSelf"}],
            },
        },
    )
)

DEFINITIONS: Final = [
    *(
        _versions(selectableFields=[{"jsonPath": path} for path in paths])
        for paths in (
            (".spec.s", ".spec.s"),
            (".spec.zz",),
            ("spec",),
            (".metadata.name",),
            (".spec",),
            (".spec.s[0]",),
            ("",),
            (".spec.s", ".spec.r"),
        )
    ),
    *(
        _versions(subresources={"scale": paths})
        for paths in (
            {},
            {"specReplicasPath": "spec.x", "statusReplicasPath": ".status.x"},
            {"specReplicasPath": ".status.x", "statusReplicasPath": ".spec.x", "labelSelectorPath": "x"},
            {"specReplicasPath": ".spec.x", "statusReplicasPath": ".status.x", "labelSelectorPath": ".x"},
        )
    ),
    _versions(deprecated=True, deprecationWarning=""),
    _versions(deprecated=True, deprecationWarning="a\nb"),
    _versions(deprecated=True, deprecationWarning="x" * 300),
    _versions(deprecationWarning="x"),
    _changed(lambda spec: spec["versions"].append({**spec["versions"][0], "name": "v2"})),
    _changed(lambda spec: spec.update(preserveUnknownFields=True)),
    try_out(definition_of({"type": "object", "anyOf": [{"properties": {"metadata": {"minProperties": 1}}}]})),
    try_out(definition_of({"type": "object", "properties": {"metadata": {"type": "object", "default": {}}}})),
]

CONVERSIONS: Final = [
    _converting(conversion)
    for conversion in (
        {"strategy": "Odd"},
        {"strategy": "Webhook"},
        {
            "strategy": "Webhook",
            "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "http://x"}},
        },
        {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {}}},
        {
            "strategy": "Webhook",
            "webhook": {
                "conversionReviewVersions": ["v9", "v1", "v1"],
                "clientConfig": {"service": {"name": "x", "namespace": "y"}, "url": "https://x"},
            },
        },
        {
            "strategy": "Webhook",
            "webhook": {
                "conversionReviewVersions": ["v9", "bad_V"],
                "clientConfig": {"url": "https://u@x?y=1#z"},
            },
        },
        {
            "strategy": "Webhook",
            "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": {"service": {"name": "", "namespace": "", "path": "x", "port": 0}},
            },
        },
        {"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}},
    )
]
