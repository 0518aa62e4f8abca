"""Numbers and texts at the edges of what Go's types hold."""

from __future__ import annotations

from typing import Any

import pytest

from support.builders.widgets import Widgets
from support.servers.api_server import APPLY, JSON_PATCH, MERGE, STRATEGIC, APIServer

_NO_FLOAT = "json: cannot unmarshal number 1e400 into Go value of type float64"


def _widget(widgets: Widgets, member: str, name: str = "w") -> bytes:
    """A widget with a member of its spec as it is written."""
    head = f'"apiVersion":"{widgets.api_version}","kind":"Widget","metadata":{{"name":"{name}"}}'
    return f'{{{head},"spec":{{"size":3,{member}}}}}'.encode()


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("10E", "10E"),
        ("100E", "100E"),
        ("9.5E", "9500P"),
        ("1e19", "10e18"),
        ("1e30", "1e30"),
        ("12345678901234567890", "12345678901234567890"),
        ("100000000000000000000", "100E"),
        ("7Ei", "7Ei"),
        ("8Ei", "9223372036854775807"),
        ("999999999999999999999Ki", "9223372036854775807"),
    ],
)
def test_large_quantities(server: APIServer, namespace: str, given: str, written: str) -> None:
    """They have no bound but the memory; with a binary suffix they end where an int64 does."""
    container = {"name": "c", "image": "example.com/c:1", "resources": {"limits": {"memory": given}}}
    volume = {"name": "v", "emptyDir": {"sizeLimit": given}}
    pod = {"containers": [container], "volumes": [volume]}
    template = {"metadata": {"labels": {"app": "a"}}, "spec": pod}
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments?dryRun=All"
    created = server.create(path, {"metadata": {"name": "d"}, "spec": spec})
    assert created.status == 201, created
    found = created.body["spec"]["template"]["spec"]
    assert found["containers"][0]["resources"]["limits"]["memory"] == written
    assert found["volumes"][0]["emptyDir"]["sizeLimit"] == written


@pytest.mark.parametrize("number", ["9223372036854775808", "-9223372036854775809", "1e19"])
def test_integers_end_where_an_int64_does(widgets: Widgets, number: str) -> None:
    """Beyond it a number is no integer."""
    refused = widgets.server.create(widgets.path, _widget(widgets, f'"port":{number}'))
    text = 'Invalid value: "number": spec.port in body must be of type integer,string: "number"'
    assert (refused.status, refused.causes[0]) == (422, ("FieldValueTypeInvalid", "spec.port", text))
    refused = widgets.server.create(widgets.path, _widget(widgets, f'"replicas":{number}'))
    assert refused.status == 422
    text = 'Invalid value: "number": spec.replicas in body must be of type integer: "number"'
    assert refused.causes[0] == ("FieldValueTypeInvalid", "spec.replicas", text)
    text = 'Invalid value: "": Checked value must be of type integer (default format) in spec.replicas'
    assert refused.causes[1] == ("FieldValueInvalid", "<nil>", text)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("9223372036854775807", 9223372036854775807),
        ("9223372036854775808", 9223372036854776000),
        ("12345678901234567e3", 12345678901234567000),
        ("123456789012345678901234567890", 1.2345678901234568e29),
    ],
)
def test_numbers_of_no_declared_type(widgets: Widgets, given: str, kept: float) -> None:
    """Without a type in the schema, a number that is no int64 is kept as a float64."""
    created = widgets.server.create(widgets.path, _widget(widgets, f'"free":{{"n":{given}}}'))
    assert (created.status, created.body["spec"]["free"]["n"]) == (201, kept)


@pytest.mark.parametrize(("given", "kept"), [("2.0", 2), ("1e16", 10**16)])
def test_whole_numbers_lose_their_point(widgets: Widgets, given: str, kept: int) -> None:
    """However a whole number was written, it comes back as an integer, declared as a number or not at all."""
    created = widgets.server.create(widgets.path, _widget(widgets, f'"ratio":{given},"free":{{"n":{given}}}'))
    assert created.status == 201, created
    for answer in (created, widgets.server.get(f"{widgets.path}/w")):
        found = answer.body["spec"]["ratio"], answer.body["spec"]["free"]["n"]
        assert [(type(number), number) for number in found] == [(int, kept), (int, kept)]


def test_numbers_that_are_no_float64(widgets: Widgets) -> None:
    """They are refused wherever no type reads their digits: in custom resources and in patches."""
    server, path = widgets.server, widgets.path
    widgets.create("a")
    text = f'Widget in version "v1" cannot be handled as a Widget: {_NO_FLOAT}'
    created = server.create(path, _widget(widgets, '"free":{"n":1e400}'))
    assert (created.status, created.message) == (400, text)
    merged = server.patch(f"{path}/a", b'{"spec":{"free":{"n":1e400}}}', MERGE)
    assert (merged.status, merged.message) == (400, f"error decoding patch: {_NO_FLOAT}")
    operation = b'[{"op":"add","path":"/spec/free","value":{"n":1e400}}]'
    patched = server.patch(f"{path}/a", operation, JSON_PATCH)
    assert patched.status == 400
    assert patched.message.endswith("1e400 into Go struct field jsonPatchOp.value of type float64")
    account = f"/api/v1/namespaces/{widgets.namespace}/serviceaccounts/default"
    server.eventually(account, lambda answer: answer.status == 200)
    strategic = server.patch(account, b'{"n":1e400}', STRATEGIC)
    assert (strategic.status, strategic.message) == (400, _NO_FLOAT)


def test_numbers_that_are_no_float64_are_text_in_yaml(widgets: Widgets) -> None:
    """That is how they are read from it, and applied objects are YAML."""
    body = _widget(widgets, '"free":{"n":1e400}')
    applied = widgets.server.patch(f"{widgets.path}/w?fieldManager=one", body, APPLY)
    assert (applied.status, applied.body["spec"]["free"]) == (201, {"n": "1e400"})


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (r"\ud800", "\ufffd"),
        (r"\udc00y", "\ufffdy"),
        (r"\ud83d\ude00", "\U0001f600"),
        (r"\ud800\ud83d\ude00\\ud800", "\ufffd\U0001f600\\ud800"),
    ],
)
def test_halves_of_surrogate_pairs(server: APIServer, namespace: str, given: str, kept: str) -> None:
    """Half a pair is U+FFFD, in objects and in patches."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    about = f'"metadata":{{"name":"c","annotations":{{"a":"{given}"}}}}'
    created = server.create(path, f'{{{about},"data":{{"x":"{given}"}}}}'.encode())
    assert (created.status, created.body["data"]) == (201, {"x": kept})
    assert created.body["metadata"]["annotations"] == {"a": kept}
    for kind in (MERGE, STRATEGIC):
        patched = server.patch(f"{path}/c", f'{{"data":{{"y":"{given}"}}}}'.encode(), kind)
        assert (patched.status, patched.body["data"]) == (200, {"x": kept, "y": kept})
    read: dict[str, Any] = server.get(f"{path}/c").body
    assert read["data"] == {"x": kept, "y": kept}
