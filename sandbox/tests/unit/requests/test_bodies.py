from __future__ import annotations

import pytest

from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.requests import bodies
from handloop_sandbox.requests.bodies import Decoded, MisfitError
from handloop_sandbox.storage.catalog import Catalog
from handloop_sandbox.wire.resource import ServedResource
from handloop_sandbox.wire.status import StatusError
from support.builders.thing import served

_MAPS = next(r for r in builtin_resources() if r.plural == "configmaps")
_WIDGETS = served(
    plural="widgets",
    kind="Widget",
    schema={
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
    },
)
_CATALOG = Catalog((*builtin_resources(), _WIDGETS))


def _decode(body: bytes, resource: ServedResource = _MAPS, content_type: str = "") -> Decoded:
    return bodies.decode(body, content_type, resource, _CATALOG)


def test_json_and_yaml() -> None:
    """Both are objects; kind and version of a built-in kind may be left out."""
    expected = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "c"}, "data": {"a": "1"}}
    assert _decode(b'{"metadata":{"name":"c"},"data":{"a":"1"}}').object == expected
    text = b"metadata: {name: c}\ndata: {a: '1'}"
    assert _decode(text, content_type="application/yaml; charset=utf-8").object == expected


def test_what_strict_decoding_finds() -> None:
    """Duplicate and unknown members are reported, duplicates first."""
    found = _decode(b'{"metadata":{"name":"c"},"data":{},"data":{},"bogus":1}')
    assert found.strict == ['duplicate field "data"', 'unknown field "bogus"']
    custom = b'{"apiVersion":"example.com/v1","kind":"Widget","spec":{"size":1,"x":2},"metadata":{"y":1}}'
    assert _decode(custom, _WIDGETS).strict == ['unknown field "metadata.y"', 'unknown field "spec.x"']


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)"),
        (b'{"a":}', "json parse error: invalid character '}' looking for beginning of value ({\"a\":})"),
        (b"[1, 2]", "json: cannot unmarshal array into Go value of type struct { APIVersion string"),
        (b'{"kind":5}', "json: cannot unmarshal number into Go struct field .kind of type string"),
        (b'{"apiVersion":"a/b/c"}', "unexpected GroupVersion string: a/b/c"),
        (b"\xff", "invalid UTF-8"),
        (b'{"a":"' + b"x" * 40 + b'"', 'unexpected end of JSON input ({"a":"xxxxxxxxxxxxxxxxxxxxxxxx ...)'),
    ],
)
def test_bodies_that_do_not_name_their_kind(body: bytes, message: str) -> None:
    """The answer is 400, names the kind wanted and shows the body's beginning."""
    with pytest.raises(StatusError) as raised:
        _decode(body)
    assert str(raised.value).startswith("the object provided is unrecognized (must be of type ConfigMap): ")
    assert message in str(raised.value)


_FIELD = "struct field ConfigMap.data of type string"
_CANNOT = "cannot be handled as a ConfigMap: "


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            b'{"kind":"Secret","apiVersion":"v1"}',
            f'Secret in version "v1" {_CANNOT}converting (v1.Secret) to (core.ConfigMap): unknown conversion',
        ),
        (
            b'{"kind":"Foo","apiVersion":"v1"}',
            f'Foo in version "v1" {_CANNOT}no kind "Foo" is registered for version "v1" {bodies.SCHEME}',
        ),
        (
            b'{"data":{"a":1}}',
            f'ConfigMap in version "v1" {_CANNOT}json: cannot unmarshal number into Go {_FIELD}',
        ),
    ],
)
def test_bodies_that_do_not_fit(body: bytes, message: str) -> None:
    """The answer is 400 and names them and the reason."""
    with pytest.raises(StatusError) as raised:
        _decode(body)
    assert str(raised.value) == message


def test_custom_resources_name_their_kind() -> None:
    """A kind is required; another version knows no members; another group is left alone."""
    with pytest.raises(StatusError, match=r"Object 'Kind' is missing in '\{\}'"):
        _decode(b"{}", _WIDGETS)
    other = b'{"apiVersion":"example.com/v2","kind":"Widget","spec":{"size":1}}'
    assert _decode(other, _WIDGETS).strict == ['unknown field "spec"']
    elsewhere = b'{"apiVersion":"v1","kind":"Widget","spec":{"size":1}}'
    assert _decode(elsewhere, _WIDGETS).strict == []


def test_types_of_bodies() -> None:
    """An unknown media type is 415, and custom resources know no protobuf."""
    for content_type in ("text/plain", "application/vnd.kubernetes.protobuf"):
        with pytest.raises(StatusError) as raised:
            _decode(b"x", _WIDGETS, content_type)
        assert raised.value.code == 415
    assert bodies.media_type("") == "application/json"


def test_protobuf_is_read_for_built_in_kinds() -> None:
    """Protobuf bodies, as kubectl sends some, become the same objects."""
    metadata = b"\x0a\x01c"
    config_map = b"\x0a" + bytes([len(metadata)]) + metadata
    type_meta = b"\x0a\x02v1\x12\x09ConfigMap"
    unknown = b"\x0a" + bytes([len(type_meta)]) + type_meta + b"\x12" + bytes([len(config_map)]) + config_map
    found = _decode(b"k8s\0" + unknown, content_type="application/vnd.kubernetes.protobuf")
    assert found.object["metadata"] == {"name": "c"}


def test_keys_that_a_text_has_twice() -> None:
    """YAML reports them in one piece, with lines; custom resources are decoded without them."""
    text = b"metadata: {name: a}\ndata: {x: '1', x: '2'}\n"
    (told,) = bodies.decode(text, "application/yaml", _MAPS, _CATALOG).strict
    assert told == 'yaml: unmarshal errors:\n  line 2: key "x" already set in map'
    with pytest.raises(StatusError, match="mapping values are not allowed in this context"):
        bodies.decode(b"a: b: c", "application/yaml", _MAPS, _CATALOG)


def test_delete_options() -> None:
    """An empty body has none; another kind, bad JSON and another type are refused."""
    assert bodies.read_options(b"", "") is None
    assert bodies.read_options(b'{"gracePeriodSeconds":5}', "application/json") == {"gracePeriodSeconds": 5}
    with pytest.raises(StatusError, match='no kind "Foo" is registered for version "v1"'):
        bodies.read_options(b'{"kind":"Foo","apiVersion":"v1"}', "")
    with pytest.raises(StatusError, match="couldn't get version/kind; json parse error"):
        bodies.read_options(b"{bad", "")
    with pytest.raises(StatusError) as raised:
        bodies.read_options(b"x", "text/plain")
    assert raised.value.code == 415


def test_values_that_are_parsed_already() -> None:
    """What a patch made is decoded the same way, with errors for the caller to word."""
    assert bodies.decode_value(None, [], _MAPS, _CATALOG).object["kind"] == "ConfigMap"
    with pytest.raises(MisfitError):
        bodies.decode_value({"data": 5}, [], _MAPS, _CATALOG)
    scale = bodies.pseudo_resource("autoscaling", "v1", "Scale", "api.autoscaling.v1.Scale")
    decoded = bodies.decode_value({"spec": {"replicas": 2}}, [], scale, _CATALOG)
    assert decoded.object["spec"] == {"replicas": 2}
    assert bodies.no_kind("A", "b/c").startswith('no kind "A" is registered for version "b/c"')
