"""A custom resource with every kind of list and map there is: for patches and server-side apply."""

from __future__ import annotations

from typing import Any, Final

from handloop_sandbox.wire.resource import ServedResource, Subresource
from support.builders.kind_samples import GROUP, NAMESPACE

Object = dict[str, Any]

_STRING: Final[Object] = {"type": "string"}
_INTEGER: Final[Object] = {"type": "integer"}


def _struct(**properties: Object) -> Object:
    return {"type": "object", "properties": properties}


def _array(items: Object, kind: str, **more: Any) -> Object:
    return {"type": "array", "x-kubernetes-list-type": kind, "items": items, **more}


SCHEMA: Final[Object] = _struct(
    spec=_struct(
        a=_INTEGER,
        b=_STRING,
        flag={"type": "boolean"},
        inner=_struct(x=_INTEGER, y=_STRING, deep=_struct(z=_STRING)),
        atom={**_struct(x=_INTEGER, y=_STRING), "x-kubernetes-map-type": "atomic"},
        labels={"type": "object", "additionalProperties": _STRING},
        plain={"type": "array", "items": _STRING},
        tags=_array(_STRING, "set"),
        items=_array(
            {**_struct(name=_STRING, v=_STRING, w=_INTEGER, sub=_struct(q=_INTEGER)), "required": ["name"]},
            "map",
            **{"x-kubernetes-list-map-keys": ["name"]},
        ),
        ports=_array(
            {
                **_struct(port=_INTEGER, proto={"type": "string", "default": "TCP"}, n=_STRING),
                "required": ["port"],
            },
            "map",
            **{"x-kubernetes-list-map-keys": ["port", "proto"]},
        ),
        free={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        ios={"x-kubernetes-int-or-string": True},
    ),
    status=_struct(n=_INTEGER, m=_STRING),
)

DEFINITION: Final[Object] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"things.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": SCHEMA},
            }
        ],
    },
}


def served(**fields: Any) -> ServedResource:
    """Things of example.com, a custom resource; fields replace the defaults here."""
    given: dict[str, Any] = {
        "group": "example.com",
        "version": "v1",
        "plural": "things",
        "kind": "Thing",
        "list_kind": "ThingList",
        "singular": "thing",
        "namespaced": True,
        "verbs": (),
        "storage_version": "v1",
        "custom": True,
    }
    return ServedResource(**{**given, **fields})


THINGS: Final = served(
    group=GROUP, schema=SCHEMA, subresources=(Subresource(name="status", kind="Thing", verbs=()),)
)


def thing(name: str = "a", **spec: Any) -> Object:
    """A Thing."""
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Thing",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }
