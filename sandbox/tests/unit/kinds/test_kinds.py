from __future__ import annotations

import pytest

from handloop_sandbox.kinds.kinds import builtin_resources
from support.builders.builtin import builtin


def test_each_resource_is_there_once() -> None:
    """No two for one path, and the tuple is made once."""
    paths = [(r.group, r.version, r.plural) for r in builtin_resources()]
    assert len(paths) == len(set(paths))
    assert builtin_resources() is builtin_resources()


def test_a_deployment() -> None:
    """Names, verbs and subresources as in the discovery of the real server."""
    found = builtin("apps", "deployments")
    assert (found.kind, found.list_kind, found.singular) == ("Deployment", "DeploymentList", "deployment")
    assert (found.short_names, found.categories, found.namespaced) == (("deploy",), ("all",), True)
    assert {sub.name for sub in found.subresources} == {"scale", "status"}
    assert found.scale_paths is not None
    assert found.scale_paths.spec_replicas == ".spec.replicas"
    assert found.has_generation
    assert not found.custom


@pytest.mark.parametrize(
    ("group", "plural", "version", "storage"),
    [
        ("autoscaling", "horizontalpodautoscalers", "v1", "v2"),
        ("autoscaling", "horizontalpodautoscalers", "v2", "v2"),
        ("apps", "deployments", "v1", "v1"),
        ("", "pods", "v1", "v1"),
    ],
)
def test_storage_versions(group: str, plural: str, version: str, storage: str) -> None:
    """What two versions serve is stored in one."""
    assert builtin(group, plural, version).storage_version == storage


@pytest.mark.parametrize(
    ("group", "plural", "fields"),
    [
        ("", "pods", {"metadata.name", "spec.nodeName", "status.phase"}),
        ("", "events", {"involvedObject.uid", "reason", "type"}),
        ("apps", "deployments", set()),
    ],
)
def test_selectable_fields(group: str, plural: str, fields: set[str]) -> None:
    """What a field selector may ask for besides name and namespace."""
    selectable = set(builtin(group, plural).selectable_fields)
    assert fields - {"metadata.name"} <= selectable


def test_endpoints_are_deprecated() -> None:
    """The warning is the one that kubectl prints."""
    assert "v1 Endpoints is deprecated" in builtin("", "endpoints").deprecation_warning
    assert not builtin("", "pods").deprecation_warning


def test_reviews_can_only_be_created() -> None:
    """That distinguishes them from the stored ones."""
    found = builtin("authorization.k8s.io", "selfsubjectaccessreviews")
    assert found.verbs == ("create",)
