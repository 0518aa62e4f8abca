"""Objects of which most are decoded in part: by lists and by watches, all that needs_whole picks is whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.without import Abridged, without
from handloop.client.decoding.pages import Undecodable
from handloop.client.http.response import Response
from handloop.client.options import ListOptions
from handloop.client.resource_client import Client, ResourceClient
from support.doubles.scripted_transport import ScriptedStream, ScriptedTransport

_BRIEF = without(Deployment, "spec.template")
_OPTIONS = ListOptions(abridged=Abridged(Deployment, _BRIEF, lambda obj: "whole" in obj.metadata.labels))
_GOOD = {"spec": {"containers": [{"name": "c"}]}}
_MISFIT = {"spec": {"containers": "no list"}}


def _object(name: str, template: Any, **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "resourceVersion": "1", "labels": labels}
    return {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": metadata,
        "spec": {"template": template},
    }


def _listed(*objects: dict[str, Any]) -> list[Any]:
    page = {"kind": "DeploymentList", "apiVersion": "apps/v1", "metadata": {}, "items": objects}
    transport = ScriptedTransport([Response(200, {}, json.dumps(page).encode())])
    read = Client(transport).resource(Deployment).list(options=_OPTIONS)
    return [*read.items, *read.undecodable]


def _watched(*objects: dict[str, Any]) -> list[Any]:
    lines = [json.dumps({"type": "ADDED", "object": each}).encode() + b"\n" for each in objects]
    transport = ScriptedTransport(streams=[ScriptedStream([b"\n" + b"\n".join(lines)])])
    resources: ResourceClient[Deployment] = Client(transport).resource(Deployment)
    return [event.object for event in resources.watch(options=_OPTIONS).read()]


@pytest.mark.parametrize("read", [_listed, _watched])
def test_only_what_is_needed_is_whole(read: Any) -> None:
    """In one page or block, each in its place."""
    brief, whole, last = read(_object("a", _GOOD), _object("b", _GOOD, whole=""), _object("c", _GOOD))
    assert [each.metadata.name for each in (brief, whole, last)] == ["a", "b", "c"]
    assert [type(each) for each in (brief, whole, last)] == [_BRIEF, Deployment, _BRIEF]
    assert [len(each.spec.template.spec.containers) for each in (brief, whole, last)] == [0, 1, 0]


@pytest.mark.parametrize("read", [_listed, _watched])
def test_a_field_that_is_not_needed_may_be_of_another_type(read: Any) -> None:
    """Only a needed one makes its object undecodable: each by itself, whatever is beside it."""
    brief, whole, misfit = read(
        _object("a", _MISFIT), _object("b", _GOOD, whole=""), _object("c", _MISFIT, whole="")
    )
    assert (brief.metadata.name, whole.metadata.name) == ("a", "b")
    assert isinstance(misfit, Undecodable)
    assert "spec.template.spec.containers" in misfit.error


def test_one_object_is_read_whole() -> None:
    """Options are for lists and watches."""
    body = json.dumps(_object("a", _GOOD)).encode()
    transport = ScriptedTransport([Response(200, {}, body)])
    assert type(Client(transport).resource(Deployment).get("a", namespace="b")) is Deployment
