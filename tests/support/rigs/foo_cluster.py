"""A sandbox in which Foos can be made, for tests of the runtime and of Foo's place in it."""

from __future__ import annotations

from handloop.apis.meta import ObjectMeta
from handloop.controller.foo.types import Foo, FooSpec
from support.rigs.managed_sandbox import ManagedSandbox


def foo_cluster() -> ManagedSandbox:
    """With the definition of Foo."""
    made = ManagedSandbox()
    made.install(Foo)
    return made


def create_foo(cluster: ManagedSandbox, name: str, *, namespace: str = "default", **spec: int) -> Foo:
    """A Foo in the cluster; its Deployment has its name."""
    metadata = ObjectMeta(name=name, namespace=namespace)
    wanted = Foo(metadata=metadata, spec=FooSpec(deployment_name=name, **spec))
    return cluster.client.resource(Foo).create(wanted)
