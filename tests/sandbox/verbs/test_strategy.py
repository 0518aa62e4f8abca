from __future__ import annotations

from dataclasses import replace
from typing import Any

from handloop.sandbox.kinds.kinds import builtin_resources
from handloop.sandbox.verbs.strategy import prepare_update

_DEPLOYMENTS = next(r for r in builtin_resources() if r.plural == "deployments")
_CUSTOM = replace(_DEPLOYMENTS, custom=True)
_NAMESPACES = next(r for r in builtin_resources() if r.plural == "namespaces")
_MAPS = next(r for r in builtin_resources() if r.plural == "configmaps")
_SERVICES = next(r for r in builtin_resources() if r.plural == "services")


def _object(kind: str = "Deployment", **parts: Any) -> dict[str, Any]:
    metadata = {"name": "a", "generation": 4, **parts.pop("metadata", {})}
    return {"kind": kind, "apiVersion": "v1", "metadata": metadata, **parts}


def test_the_object_endpoint_keeps_the_status() -> None:
    """A changed spec raises the generation; the status is the old one, or none."""
    old = _object(spec={"x": 1}, status={"s": 1})
    new = prepare_update(_CUSTOM, _object(spec={"x": 2}, status={"s": 2}), old, "")
    assert (new["metadata"]["generation"], new["status"]) == (5, {"s": 1})
    same = prepare_update(_CUSTOM, _object(spec={"x": 1}, status={"s": 2}), old, "")
    assert same["metadata"]["generation"] == 4


def test_a_custom_resource_counts_every_change_outside_metadata() -> None:
    """Without a status subresource a changed status raises the generation too."""
    bare = replace(_CUSTOM, subresources=())
    new = prepare_update(bare, _object(status={"s": 2}), _object(status={"s": 1}), "")
    assert (new["metadata"]["generation"], new["status"]) == (5, {"s": 2})
    labelled = prepare_update(bare, _object(metadata={"labels": {"a": "b"}}), _object(), "")
    assert labelled["metadata"]["generation"] == 4


def test_deployments_count_annotations() -> None:
    """A Deployment's generation also follows its annotations."""
    new = prepare_update(
        _DEPLOYMENTS, _object(spec={}, metadata={"annotations": {"a": "b"}}), _object(spec={}), ""
    )
    assert new["metadata"]["generation"] == 5


def test_the_status_endpoint_of_custom_resources() -> None:
    """Nothing but the status and the record of managers is taken."""
    old = _object(spec={"x": 1}, metadata={"labels": {"l": "1"}})
    sent = _object(spec={"x": 2}, status={"s": 1}, metadata={"labels": {}, "managedFields": [{"m": 1}]})
    new = prepare_update(_CUSTOM, sent, old, "status")
    assert (new["spec"], new["status"]) == ({"x": 1}, {"s": 1})
    assert new["metadata"] == {
        "name": "a",
        "generation": 4,
        "labels": {"l": "1"},
        "managedFields": [{"m": 1}],
    }


def test_the_status_endpoint_of_built_in_kinds() -> None:
    """Spec, owners and a workload's labels stay; annotations are taken."""
    old = _object(spec={"x": 1}, metadata={"labels": {"l": "1"}})
    sent = _object(spec={"x": 2}, status={"s": 1}, metadata={"labels": {}, "annotations": {"a": "b"}})
    new = prepare_update(_DEPLOYMENTS, sent, old, "status")
    assert (new["spec"], new["status"]) == ({"x": 1}, {"s": 1})
    assert (new["metadata"]["labels"], new["metadata"]["annotations"]) == ({"l": "1"}, {"a": "b"})


def test_a_namespaces_finalizers_have_their_own_endpoint() -> None:
    """The spec of a namespace changes through /finalize only."""
    old = _object("Namespace", spec={"finalizers": ["kubernetes"]}, status={"phase": "Active"})
    sent = _object("Namespace", spec={"finalizers": []})
    assert prepare_update(_NAMESPACES, sent, old, "")["spec"] == {"finalizers": ["kubernetes"]}
    assert prepare_update(_NAMESPACES, sent, old, "finalize")["spec"] == {"finalizers": []}


def test_kinds_without_generation() -> None:
    """A ConfigMap has no generation to raise; a Service loses what its type does not have."""
    new = prepare_update(
        _MAPS, {"metadata": {"name": "a"}, "data": {"x": "1"}}, {"metadata": {}, "data": {}}, ""
    )
    assert "generation" not in new["metadata"]
    old = _object("Service", spec={"clusterIP": "10.96.0.9"})
    external = {"type": "ExternalName", "clusterIP": "10.96.0.9"}
    service = prepare_update(_SERVICES, _object("Service", spec=external), old, "")
    assert service["spec"] == {"type": "ExternalName"}
