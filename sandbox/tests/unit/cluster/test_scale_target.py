from __future__ import annotations

import random
from typing import Any

import pytest

from handloop_sandbox.cluster.cluster_controller import View
from handloop_sandbox.cluster.scale_target import NoScaleError, find, resized
from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.storage.catalog import Catalog
from handloop_sandbox.storage.store import Store
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.storage.transaction import Transaction
from handloop_sandbox.wire.resource import ScalePaths, ServedResource
from support.builders.thing import served

_PATHS = ScalePaths(".spec.size", ".status.size", ".status.selector")


def _things(paths: ScalePaths | None = _PATHS) -> ServedResource:
    return served(scale_paths=paths)


def _view(kind: ServedResource, obj: Object | None = None) -> View:
    store = Store()
    if obj is not None:
        transaction = Transaction(store)
        transaction.put(kind.group_resource, obj)
        store.commit(transaction.changes)
    return View(store, Catalog((*builtin_resources(), kind)), random.Random(1))


def _reference(api_version: str, kind: str, name: str = "a") -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "name": name}


def _thing(**fields: Any) -> Object:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "a", "namespace": "n"},
    } | fields


def test_a_deployment_is_scaled_by_its_replicas() -> None:
    """The replicas come from the spec, the selector in query form."""
    apps = next(r for r in builtin_resources() if (r.group, r.plural) == ("apps", "deployments"))
    selector = {"matchLabels": {"b": "2", "a": "1"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]}
    obj = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a", "namespace": "n"},
        "spec": {"replicas": 3, "selector": selector},
        "status": {"replicas": 2},
    }
    target = find(_view(apps, obj), "n", _reference("apps/v1", "Deployment"))
    assert (target.replicas, target.selector) == (3, "a=1,b=2,c")
    write = resized(target, 7)
    assert (write.verb, write.subresource, write.namespace, write.name) == ("update", "scale", "n", "a")
    assert write.object is not None
    assert write.object["spec"] == {"replicas": 7, "selector": selector}
    assert obj["spec"] == {"replicas": 3, "selector": selector}


def test_a_custom_object_is_scaled_by_the_paths_of_its_definition() -> None:
    """The paths of the scale subresource lead to the numbers and the selector."""
    obj = _thing(spec={"size": 4, "other": 1}, status={"size": 1, "selector": "x=y"})
    target = find(_view(_things(), obj), "n", _reference("example.com/v1", "Thing"))
    assert (target.replicas, target.selector) == (4, "x=y")
    written = resized(target, 5).object
    assert written is not None
    assert written["spec"] == {"size": 5, "other": 1}


def test_any_version_of_the_group_will_do() -> None:
    """The version of a reference is not looked at, as the real controller maps kinds by group."""
    target = find(_view(_things(), _thing(spec={"size": 4})), "n", _reference("example.com/v9", "Thing"))
    assert (target.replicas, target.selector) == (4, "")


@pytest.mark.parametrize(
    ("api_version", "kind", "paths", "problem"),
    [
        ("nosuch.io/v1", "Thing", _PATHS, 'no matches for kind "Thing" in group "nosuch.io"'),
        ("apps/v1", "Deployment", _PATHS, 'deployments.apps "a" not found'),
        ("example.com/v1", "Thing", None, "the server could not find the requested resource"),
        ("batch/v1", "Job", _PATHS, "the server could not find the requested resource"),
        (
            "example.com/v1",
            "Thing",
            _PATHS,
            'Internal error occurred: the spec replicas field ".spec.size" does not exist',
        ),
    ],
)
def test_what_cannot_be_scaled(api_version: str, kind: str, paths: ScalePaths | None, problem: str) -> None:
    """Each reason not to find a scale has the real controller's words."""
    with pytest.raises(NoScaleError) as caught:
        find(_view(_things(paths), _thing(spec={})), "n", _reference(api_version, kind))
    assert str(caught.value) == problem


@pytest.mark.parametrize("size", ["many", [1], 1.5, True, None])
def test_replicas_that_are_no_number_cannot_be_scaled(size: Any) -> None:
    """The object may be older than the scale subresource of its kind, so nobody has validated them."""
    with pytest.raises(NoScaleError, match=r'the spec replicas field "\.spec\.size" does not exist'):
        find(_view(_things(), _thing(spec={"size": size})), "n", _reference("example.com/v1", "Thing"))
