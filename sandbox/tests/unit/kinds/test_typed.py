from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.kinds import typed
from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.wire.resource import Schema

_SCHEMAS = {r.kind: r.schema for r in builtin_resources() if r.schema is not None}


def _decode(kind: str, value: Any) -> tuple[Any, list[str]]:
    report = typed.Report()
    schema: Schema = _SCHEMAS[kind]
    return typed.decode(schema, value, report), report.unknown


def test_zero_values_vanish_or_appear_by_their_type() -> None:
    """Empty optional members are dropped, those that Go always writes are added."""
    obj, unknown = _decode(
        "ConfigMap", {"metadata": {"name": "c", "labels": {}}, "data": {}, "immutable": False}
    )
    assert obj == {"metadata": {"name": "c"}, "immutable": False}
    assert unknown == []
    pod, _ = _decode("Pod", {"metadata": {}, "spec": {"containers": [{"name": "c"}]}})
    assert pod["spec"]["containers"] == [{"name": "c", "resources": {}}]
    assert pod["status"] == {}


def test_unknown_members_are_dropped_and_named() -> None:
    """The path of a dropped member has the indices of lists in it."""
    container = {"name": "c", "ports": [{"containerPort": 80, "zz": 1}], "bogus": {}}
    pod, unknown = _decode("Pod", {"spec": {"containers": [container]}, "extra": 1, "metadata": {"x": 1}})
    assert sorted(unknown) == [
        "extra",
        "metadata.x",
        "spec.containers[0].bogus",
        "spec.containers[0].ports[0].zz",
    ]
    assert pod["spec"]["containers"][0]["ports"] == [{"containerPort": 80}]


def _container(**fields: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "c", **fields}]}}
    return {"spec": {"template": template}}


_CONTAINER = "spec.template.spec.containers"
_PORT = f"Go struct field ContainerPort.{_CONTAINER}"


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("ConfigMap", {"data": {"a": 1}}, "number into Go struct field ConfigMap.data of type string"),
        ("ConfigMap", {"data": []}, "array into Go struct field ConfigMap.data of type map[string]string"),
        (
            "ConfigMap",
            {"metadata": []},
            "array into Go struct field ConfigMap.metadata of type v1.ObjectMeta",
        ),
        (
            "ConfigMap",
            {"metadata": {"labels": {"a": True}}},
            "bool into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            "ConfigMap",
            {"metadata": {"ownerReferences": [{"uid": 3}]}},
            "number into Go struct field OwnerReference.metadata.ownerReferences.uid of type types.UID",
        ),
        (
            "Deployment",
            _container(image=5),
            f"number into Go struct field Container.{_CONTAINER}.image of type string",
        ),
        (
            "Deployment",
            _container(ports={}),
            f"object into Go struct field Container.{_CONTAINER}.ports of type []v1.ContainerPort",
        ),
        (
            "Deployment",
            _container(ports=[{"containerPort": 1.5}]),
            f"number 1.5 into Go struct field ContainerPort.{_CONTAINER}.ports.containerPort of type int32",
        ),
        (
            "Deployment",
            _container(ports=[{"containerPort": 2**40}]),
            f"number {2**40} into {_PORT}.ports.containerPort of type int32",
        ),
    ],
)
def test_gos_words_for_a_wrong_type(kind: str, value: Any, message: str) -> None:
    """A value of the wrong type is refused with the struct, the path and the Go type."""
    with pytest.raises(typed.DecodeError) as raised:
        _decode(kind, value)
    assert str(raised.value) == f"json: cannot unmarshal {message}"


def test_bytes_times_and_quantities() -> None:
    """Base64, times and quantities are checked, and written in their canonical form."""
    with pytest.raises(typed.DecodeError, match="illegal base64 data at input byte 0"):
        _decode("ConfigMap", {"binaryData": {"a": "%%"}})
    with pytest.raises(typed.DecodeError, match='cannot parse "yesterday" as "2006"'):
        _decode("ConfigMap", {"metadata": {"creationTimestamp": "yesterday"}})
    with pytest.raises(typed.DecodeError, match="quantities must match"):
        _decode("Deployment", _container(resources={"limits": {"cpu": []}}))
    obj, _ = _decode("Deployment", _container(resources={"limits": {"cpu": 0.5, "memory": "1024Mi"}}))
    container = obj["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"] == {"limits": {"cpu": "500m", "memory": "1Gi"}}


def test_int_or_string() -> None:
    """A port may be a name or a number, but no fraction."""
    probe = {"httpGet": {"port": "http"}}
    obj, _ = _decode("Deployment", _container(livenessProbe=probe))
    assert obj["spec"]["template"]["spec"]["containers"][0]["livenessProbe"]["httpGet"]["port"] == "http"
    with pytest.raises(typed.DecodeError, match=r"number 1\.5 into Go struct field HTTPGetAction"):
        _decode("Deployment", _container(livenessProbe={"httpGet": {"port": 1.5}}))


def test_types_that_contain_themselves() -> None:
    """The schema inside a definition is decoded at any depth."""
    inner: dict[str, Any] = {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "string"}}},
    }
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": inner}}]
    obj, unknown = _decode("CustomResourceDefinition", {"spec": {"versions": versions}})
    assert obj["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == inner
    assert unknown == []


def test_the_input_is_left_alone() -> None:
    """Decoding builds a new object and is its own fixed point."""
    given = {"metadata": {"name": "c"}, "data": {"a": "1"}, "bogus": 1}
    once, _ = _decode("ConfigMap", given)
    assert given["bogus"] == 1
    assert _decode("ConfigMap", once) == (once, [])


def test_paths_and_kinds_of_values() -> None:
    """Paths join members and indices; JSON kinds have Go's names."""
    assert typed.path_text(["a", "[0]", "b"]) == "a[0].b"
    values: list[object] = [True, 1, 1.5, "", [], {}]
    assert [typed.json_kind(value) for value in values] == [
        "bool",
        "number",
        "number 1.5",
        "string",
        "array",
        "object",
    ]
    assert typed.compact({"a": [1]}) == '{"a":[1]}'
