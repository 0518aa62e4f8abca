from __future__ import annotations

from handloop_sandbox.wire.resource import GroupResource, ServedResource, Subresource
from support.builders.thing import served


def _resource(group: str, version: str) -> ServedResource:
    status = Subresource(name="status", kind="Widget", verbs=("get",))
    return served(
        group=group, version=version, plural="widgets", kind="Widget", verbs=("get",), subresources=(status,)
    )


def test_the_names_that_follow() -> None:
    """A resource is called differently in paths, messages and objects."""
    resource = _resource("example.com", "v1beta1")
    assert resource.api_version == "example.com/v1beta1"
    assert resource.storage_api_version == "example.com/v1"
    assert resource.qualified == "widgets.example.com"
    assert resource.qualified_kind == "Widget.example.com"
    assert str(resource.group_resource) == "widgets.example.com"


def test_the_core_group_has_no_name() -> None:
    """In the core group nothing is qualified."""
    resource = _resource("", "v1")
    assert (resource.api_version, resource.storage_api_version) == ("v1", "v1")
    assert (resource.qualified, resource.qualified_kind) == ("widgets", "Widget")
    assert str(GroupResource("", "widgets")) == "widgets"


def test_subresources_are_found_by_name() -> None:
    """A subresource that is not served is None."""
    resource = _resource("", "v1")
    assert resource.subresource("status") is resource.subresources[0]
    assert resource.subresource("scale") is None
