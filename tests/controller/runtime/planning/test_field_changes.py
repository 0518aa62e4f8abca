"""The fields that differ between two objects as a server has them."""

from __future__ import annotations

from typing import Any

import pytest

from handloop.controller.runtime.planning.field_changes import FieldChange, changed_fields, created_fields


def deployment(container: dict[str, Any] | None = None, **pod: Any) -> dict[str, Any]:
    """A Deployment with one container, and what a server adds."""
    containers = [{"name": "web", "image": "nginx:1", **(container or {})}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a", "uid": "u", "resourceVersion": "7", "generation": 3},
        "spec": {"replicas": 1, "template": {"metadata": {}, "spec": {"containers": containers, **pod}}},
    }


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """Without managers and reasons."""
    return [each[:3] for each in changed_fields(before, after)]


def of_spec(before: Any, after: Any) -> list[tuple[str, Any, Any]]:
    """The changes of a custom object's field spec.a."""
    names = {"apiVersion": "example.com/v1", "kind": "Site"}
    return changes({**names, "spec": {"a": before}}, {**names, "spec": {"a": after}})


AT_WEB = "spec.template.spec.containers[name=web]"


@pytest.mark.parametrize(
    ("container", "pod", "path", "reason"),
    [
        ({"image": "nginx:2"}, {}, f"{AT_WEB}.image", "image"),
        ({"env": [{"name": "A", "value": "1"}]}, {}, f"{AT_WEB}.env[name=A].name", "env"),
        ({"args": ["-v"]}, {}, f"{AT_WEB}.args", "args"),
        ({}, {"nodeSelector": {"a.b/c": "d"}}, 'spec.template.spec.nodeSelector["a.b/c"]', "nodeSelector"),
        ({}, {"initContainers": []}, "spec.template.spec.initContainers", "initContainers"),
    ],
)
def test_a_change_of_a_pods_template_has_a_reason(
    container: dict[str, Any], pod: dict[str, Any], path: str, reason: str
) -> None:
    """In a word, with the field at a path that names the container and not its place."""
    found = [*changed_fields(deployment(), deployment(container, **pod))]
    assert (found[0].path, {each.restarts for each in found}) == (path, {reason})


def test_other_changes_start_no_pods() -> None:
    """Neither of a Deployment's replicas, nor of another kind's template."""
    scaled = deployment()
    scaled["spec"]["replicas"] = 2
    assert [*changed_fields(deployment(), scaled)] == [FieldChange("spec.replicas", 1, 2)]
    other = {**deployment({"image": "nginx:2"}), "kind": "Thing"}
    assert {each.restarts for each in changed_fields({**deployment(), "kind": "Thing"}, other)} == {""}


def test_what_the_server_writes_is_no_change() -> None:
    """Versions, generations, UIDs, times of creation and managers differ at each write."""
    later = deployment()
    later["metadata"] |= {"resourceVersion": "8", "generation": 4, "managedFields": [{"time": "now"}]}
    assert changes(deployment(), later) == []


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (1, 1, []),
        (1, 1.0, [("spec.a", 1, 1.0)]),
        (True, 1, [("spec.a", True, 1)]),
        (None, {"b": {"c": 1}}, [("spec.a.b.c", None, 1)]),
        ({"b": {"c": 1}}, None, [("spec.a.b.c", 1, None)]),
        (None, {}, [("spec.a", None, {})]),
        ({"b": 1}, [1], [("spec.a", {"b": 1}, [1])]),
        ([1, 2], [1, 3], [("spec.a[1]", 2, 3)]),
        ([1, 2], [1], [("spec.a", [1, 2], [1])]),
        ([{"x": 1}, {"x": 1}], [{"x": 1}], [("spec.a[1].x", 1, None)]),
        ([{"name": "b"}, {"name": "a"}], [{"name": "a"}], [("spec.a[name=b].name", "b", None)]),
        (
            [{"name": "b"}, {"name": "a"}],
            [{"name": "a"}, {"name": "b"}],
            [("spec.a.order", ["b", "a"], ["a", "b"])],
        ),
        ("2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z", [("spec.a", "<time>", "<time>")]),
    ],
)
def test_values_that_differ(before: Any, after: Any, expected: list[tuple[str, Any, Any]]) -> None:
    """The outermost ones, elements by what tells them apart; an order alone may matter, as that of env."""
    assert of_spec(before, after) == expected


def test_the_time_of_a_condition_is_not_shown() -> None:
    """It goes with the condition, and is another one at each try."""
    names = {"apiVersion": "example.com/v1", "kind": "Site"}
    one, other = (
        {**names, "status": {"conditions": [{"type": "Ready", "status": status, "lastTransitionTime": time}]}}
        for status, time in (("True", "2024-01-01T00:00:00Z"), ("False", "2025-01-01T00:00:00Z"))
    )
    assert changes(one, other) == [("status.conditions[type=Ready].status", "True", "False")]


def test_the_values_of_a_secret_are_not_shown() -> None:
    """Nor those in the annotation of kubectl apply; that they differ is."""
    last = "kubectl.kubernetes.io/last-applied-configuration"

    def secret(**data: str) -> dict[str, Any]:
        metadata = {"name": "s", "annotations": {last: str(data)}}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data, "type": "Opaque"}

    found = changes(secret(a="b2xk", gone="Z29uZQ=="), secret(a="bmV3", new="bmV3"))
    assert [*found[:2], *found[2:]] == [
        ("data.a", "*** (before)", "*** (after)"),
        ("data.gone", "***", None),
        ("data.new", None, "***"),
        (f'metadata.annotations["{last}"]', "*** (before)", "*** (after)"),
    ]
    assert "bmV3" not in str([*created_fields(secret(a="bmV3"), secret(a="bmV3"))])


def test_a_new_object_has_what_was_sent() -> None:
    """In the server's spelling, and without its defaults, of which some are another one at each try."""
    sent = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], "cpu": "1000m"}}
    made = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s", "uid": "random"},
        "spec": {"ports": [{"port": 80, "nodePort": 31234}], "cpu": "1", "clusterIP": "10.0.0.7"},
    }
    found = [each[:3] for each in created_fields(sent, made)]
    assert found == [
        ("metadata.name", None, "s"),
        ("spec.cpu", None, "1"),
        ("spec.ports[port=80].port", None, 80),
    ]


def test_what_somebody_else_writes_meanwhile_is_not_ours() -> None:
    """Between a dry answer and the read of the object: then only the fields that were sent are compared."""
    before, after = deployment(), deployment({"image": "nginx:2"})
    before["metadata"]["annotations"] = {"revision": "2"}
    sent = {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "nginx:2"}]}}}}
    (change,) = changed_fields(before, after, only=sent)
    assert (change.path, change.restarts) == (f"{AT_WEB}.image", "image")


def test_who_had_written_a_field() -> None:
    """By the server's record, through lists with keys, and of a list that is written as a whole."""
    before, after = deployment({"args": ["a"]}), deployment({"image": "nginx:2", "args": ["b"]})
    key = 'k:{"name":"web"}'
    before["metadata"]["managedFields"] = [
        {
            "manager": "kubectl-edit",
            "fieldsV1": {
                "f:spec": {"f:template": {"f:spec": {"f:containers": {key: {"f:image": {}, "f:args": {}}}}}}
            },
        },
        {"manager": "other", "fieldsV1": {"f:spec": {"f:replicas": {}}}},
    ]
    assert {each.manager for each in changed_fields(before, after)} == {"kubectl-edit"}
    assert {each.manager for each in changed_fields(before, after, ours="kubectl-edit")} == {""}
