"""Bad values of a Foo and a MyApp: the server refuses them, and so does our own check where one has not."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
import pytest

from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import Kind, decode_hook
from handloop.controller.foo.types import Foo
from handloop.controller.myapp.types import MyApp, problems
from support.builders.bad_values import BAD, SPECS
from support.builders.widgets import defined
from support.servers.api_server import Answer, APIServer

GOOD: Final[dict[type[Kind], dict[str, Any]]] = {
    Foo: {"deploymentName": "a", "replicas": 1},
    MyApp: {"image": "nginx"},
}
Create = Callable[..., Answer]


@pytest.fixture(scope="module", params=list(GOOD), ids=lambda kind: kind.resource.kind)
def kind(request: pytest.FixtureRequest) -> type[Kind]:
    """Each of our kinds."""
    chosen: type[Kind] = request.param
    return chosen


@pytest.fixture(scope="module")
def group(server: APIServer, kind: type[Kind]) -> Iterator[str]:
    """A group with the definition of the kind."""
    group = f"b{uuid.uuid4().hex[:8]}.contract.example.com"
    definition = custom_resource_definition(kind)
    definition["metadata"] = {"name": f"{kind.resource.plural}.{group}"}
    definition["spec"]["group"] = group
    definition["spec"]["versions"][0]["name"] = "v1"
    with defined(server, definition):
        yield group


@pytest.fixture
def create(server: APIServer, kind: type[Kind], group: str, namespace: str) -> Create:
    """Create an object with a spec, and metadata."""

    def ask(spec: Any, **metadata: Any) -> Answer:
        path = f"/apis/{group}/v1/namespaces/{namespace}/{kind.resource.plural}"
        head = {"apiVersion": f"{group}/v1", "kind": kind.resource.kind}
        return server.create(path, {**head, "metadata": {"name": "a", **metadata}, "spec": spec})

    return ask


def is_refused_here(kind: type[Kind], spec: Any) -> bool:
    """Whether our own check refuses it."""
    wire = {"metadata": {"name": "a"}, "spec": spec}
    try:
        obj = msgspec.convert(wire, kind, dec_hook=decode_hook)
    except msgspec.ValidationError:
        return True
    return isinstance(obj, MyApp) and problems(obj) != ()


def test_a_bad_field_is_refused_by_the_server_and_by_our_own_check(kind: type[Kind], create: Create) -> None:
    """The server names the field, each time; nothing of it is stored."""
    for field, values in BAD[kind].items():
        for value in values:
            spec = {**GOOD[kind], field: value}
            answer = create(spec)
            assert (answer.status, f"spec.{field}" in answer.message) == (422, True), (field, value, answer)
            assert is_refused_here(kind, spec), (field, value)


def test_what_is_no_spec_is_refused_by_both(kind: type[Kind], create: Create) -> None:
    """A text, a list, a number; a Foo may have none, and then has no wish."""
    for spec in SPECS:
        assert create(spec).status == 422, spec
        assert is_refused_here(kind, spec), spec
    assert create(None).status == (201 if kind is Foo else 422)


def test_null_is_absence(kind: type[Kind], create: Create) -> None:
    """Of replicas: a MyApp gets its default of one, a Foo leaves its Deployment's alone."""
    answer = create({**GOOD[kind], "replicas": None})
    expected = {Foo: None, MyApp: 1}[kind]
    assert (answer.status, answer.body["spec"].get("replicas")) == (201, expected)


def test_many_labels_are_taken_and_a_huge_annotation_is_not(kind: type[Kind], create: Create) -> None:
    """Ten thousand labels are an object like any other; all annotations have 256 KiB together."""
    many = {f"example.com/{number}": "x" for number in range(10_000)}
    assert len(create(GOOD[kind], name="many", labels=many).body["metadata"]["labels"]) == 10_000
    huge = create(GOOD[kind], name="huge", annotations={"note": "x" * 2**20})
    assert (huge.status, "metadata.annotations" in huge.message) == (422, True), huge.status
