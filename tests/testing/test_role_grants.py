from __future__ import annotations

from typing import Any

import pytest

from handloop.client.resource_client import Client
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.rbac.access import Access
from handloop.kinds.core_v1 import ConfigMap
from handloop.kinds.rbac_v1 import ClusterRole
from handloop.testing import RecordedWrites, RequestAttributes, assert_rbac_exact
from handloop.testing.role_grants import Grant, grants, refused, unused


class Ran:
    """A program that asked for some things. Implements Accessing."""

    def __init__(self, *asked: RequestAttributes) -> None:
        self.manager = Manager(Client(RecordedWrites()))
        self.namespaces: tuple[str, ...] = ()
        self._asked = list(asked)
        builder = controller_for(self.manager, "things").for_(Foo)
        builder.writes(ConfigMap, "create").complete(lambda _thing, _context: None)

    def asked(self) -> list[RequestAttributes]:
        return list(self._asked)


LIST = RequestAttributes("watch", Foo.resource.plural, Foo.resource.group, streaming_list=True)
CREATE = RequestAttributes("create", "configmaps", "", streaming_list=False, namespace="default")


def test_what_is_declared_and_used_is_exact() -> None:
    """A streamed list is list and watch; Events and the look at the own kind may stay unused."""
    assert_rbac_exact(Ran(LIST, CREATE))


def test_an_apply_that_creates_needs_both() -> None:
    """As a server checks it."""
    apply = CREATE._replace(verb="patch", name="a", creates=True)
    with pytest.raises(AssertionError) as failed:
        assert_rbac_exact(Ran(LIST, apply))
    assert str(failed.value).splitlines()[1:] == ["used, but not declared: patch configmaps default/a"]


def test_missing_and_unused_access_is_reported() -> None:
    """Each with its verb and resource."""
    patch = CREATE._replace(verb="patch", name="a")
    with pytest.raises(AssertionError) as failed:
        assert_rbac_exact(Ran(LIST, patch))
    assert str(failed.value).splitlines()[:3] == [
        "declared access differs from used access",
        "used, but not declared: patch configmaps default/a",
        "declared, but not used: create configmaps",
    ]


def test_a_right_that_is_no_request_cannot_be_unused() -> None:
    """The server looks at `bind` while it checks a RoleBinding."""
    ran = Ran(LIST, CREATE)
    ran.manager.declare(Access(resource=ClusterRole.resource, verbs=("bind",), names=("view",)))
    assert_rbac_exact(ran)
    ran.manager.declare(Access(resource=ClusterRole.resource, verbs=("get",), names=("view",)))
    with pytest.raises(AssertionError, match="declared, but not used: get clusterroles"):
        assert_rbac_exact(ran)


def test_a_comparison_of_roles_and_requests_can_fail() -> None:
    """A verb too many, a verb too few, another namespace and another name are all noticed."""
    rule: dict[str, Any] = {"apiGroups": ["g"], "resources": ["things"], "resourceNames": ["mine"]}
    role = {"kind": "Role", "metadata": {"namespace": "home"}, "rules": [rule | {"verbs": ["get", "update"]}]}
    granted = list(grants([role]))
    mine = RequestAttributes("get", "things", "g", streaming_list=False, namespace="home", name="mine")
    assert refused([mine], granted) == set()
    assert unused([mine], granted) == {Grant("update", "g", "things", "home", "mine")}
    for other in (mine._replace(verb="list"), mine._replace(namespace="demo"), mine._replace(name="yours")):
        assert refused([mine, other], granted) == {other}
