"""What a controller watches and writes is checked where it is handed in, and declared from it."""

from __future__ import annotations

from typing import Any, cast

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.core_v1 import Service
from handloop.apis.meta import Kind, ObjectMeta
from handloop.controller.foo.types import Foo, FooSpec
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.rbac.access import Access
from handloop.controller.runtime.rbac.roles import roles
from handloop.controller.runtime.sources.informer_source import own_name
from handloop.controller.runtime.sources.predicates import GenerationChanged, LabelsChanged, any_of
from support.rigs.managed_sandbox import ManagedSandbox


class ConfigMap(Kind, group="", version="v1"):
    """A user's own type."""


@pytest.fixture
def cluster() -> ManagedSandbox:
    """A sandbox in which Foos can be made."""
    made = ManagedSandbox()
    made.install(Foo)
    return made


def test_what_a_controller_watches_and_records_is_declared(cluster: ManagedSandbox) -> None:
    """The author declares only writes, once; roles() needs nothing else."""
    manager = cluster.manager()
    builder = controller_for(manager, "exposer").for_(Foo).owns(Service).watches(ConfigMap, own_name)
    builder.writes(Service, "create", "patch").writes(Foo, "patch", subresource="status")
    builder.owns(Deployment).writes(Deployment, "create").complete(lambda _foo, _context: None)
    (role,) = roles(manager.access())
    assert {(*rule["resources"], *rule["verbs"]) for rule in role["rules"]} == {
        ("foos", "get", "list", "watch"),
        ("foos/status", "patch"),
        ("foos/finalizers", "update"),
        ("services", "create", "get", "list", "patch", "watch"),
        ("deployments", "create", "get", "list", "watch"),
        ("configmaps", "list", "watch"),
        ("namespaces", "list", "watch"),
        ("events", "create", "patch"),
    }
    controller_for(blind := Manager(cluster.client), "blind").for_(Foo).writes(Service, "create").complete(
        lambda _foo, _context: None
    )
    assert Access(resource=Service.resource, verbs=("create",)) in blind.access()
    controller_for(other := Manager(cluster.client), "reader").for_(Foo).complete(lambda _foo, _context: None)
    assert "foos/finalizers" not in {one.rule_resource for one in other.access()}
    with pytest.raises(ValueError, match=r'name the verbs: \.writes\(Service, "create", "patch"\)'):
        builder.writes(Service)
    with pytest.raises(ValueError, match=r"'craete' is not a verb of a resource: create\? \.declares"):
        builder.writes(Service, "get", "craete")
    with pytest.raises(ValueError, match=r"'xyz' is not a verb of a resource\. \.declares"):
        builder.writes(Service, "xyz")


@pytest.mark.parametrize(
    ("predicate", "message"),
    [
        (GenerationChanged, r"not a class: call GenerationChanged\(\.\.\.\)"),
        (lambda _event: True, r"does not: PredicateFuncs\(update=function\)"),
    ],
)
def test_what_is_no_predicate_is_refused(cluster: ManagedSandbox, predicate: Any, message: str) -> None:
    """Where it is handed in: at each event it would fail, and let everything through."""
    builder = controller_for(cluster.manager(), "a")
    with pytest.raises(TypeError, match=message):
        builder.for_(Foo, predicates=(predicate,))
    with pytest.raises(TypeError, match=message):
        builder.owns(Service, predicates=(predicate,))
    with pytest.raises(TypeError, match=message):
        builder.watches(Service, own_name, predicates=(predicate,))


def test_one_predicate_alone_is_refused(cluster: ManagedSandbox) -> None:
    """A comma was forgotten; the message has it."""
    with pytest.raises(TypeError, match=r"predicates is a tuple: predicates=\(.*,\)$"):
        controller_for(cluster.manager(), "a").for_(Foo, predicates=cast("Any", LabelsChanged()))


def test_a_generation_that_is_not_counted_is_refused(cluster: ManagedSandbox) -> None:
    """It would hide every update; of a part of any_of it hides nothing."""
    builder = controller_for(cluster.manager(), "a").for_(Foo, predicates=(GenerationChanged(),))
    builder.owns(Deployment, predicates=(GenerationChanged(),))
    for kind in (ConfigMap, Service):
        with pytest.raises(TypeError, match=f"no generation for a {kind.__name__}, so GenerationChanged"):
            builder.watches(kind, own_name, predicates=(GenerationChanged(),))
    builder.watches(ConfigMap, own_name, predicates=(any_of(GenerationChanged(), LabelsChanged()),))


def test_what_is_no_kind_and_no_map_function_is_refused(cluster: ManagedSandbox) -> None:
    """An object is not printed in full."""
    builder: Any = controller_for(cluster.manager(), "a")
    with pytest.raises(TypeError, match=r"a kind, such as Foo, and not an object: pass Foo$"):
        builder.for_(Foo(metadata=ObjectMeta(name="a"), spec=FooSpec(deployment_name="a")))
    with pytest.raises(TypeError, match="and not 'foos'"):
        builder.owns("foos")
    with pytest.raises(TypeError, match="a map function takes an object and returns ObjectNames, not 7"):
        builder.watches(Service, 7)
