"""Foos and Deployments for tests, as the server would have stored them."""

from __future__ import annotations

import msgspec

from handloop.apis.apps_v1 import Deployment, DeploymentStatus
from handloop.apis.meta import ObjectMeta
from handloop.controller.foo import controller as foo_controller
from handloop.controller.foo.types import Foo, FooSpec, FooStatus


def new_foo(
    name: str = "example-foo",
    *,
    replicas: int | None = 1,
    namespace: str = "default",
    deployment_name: str | None = None,
    uid: str | None = None,
    resource_version: str = "1",
    available: int | None = None,
    deletion_timestamp: str | None = None,
) -> Foo:
    """A Foo that names a Deployment `<name>-deployment` by default; available None = no status."""
    return Foo(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            uid=f"uid-of-{namespace}-{name}" if uid is None else uid,
            resource_version=resource_version,
            deletion_timestamp=deletion_timestamp,
        ),
        spec=FooSpec(
            deployment_name=f"{name}-deployment" if deployment_name is None else deployment_name,
            replicas=replicas,
        ),
        status=FooStatus(available_replicas=available),
    )


def new_deployment(
    foo: Foo, *, replicas: int | None = None, available: int = 0, resource_version: str = "1"
) -> Deployment:
    """The Deployment that a Foo wants, as the server would have it; replicas None takes the Foo's."""
    deployment = foo_controller.new_deployment(foo)
    wanted = deployment.spec.replicas if replicas is None else replicas
    return msgspec.structs.replace(
        deployment,
        metadata=msgspec.structs.replace(
            deployment.metadata,
            uid=f"uid-of-{foo.metadata.namespace}-{deployment.metadata.name}",
            resource_version=resource_version,
        ),
        spec=msgspec.structs.replace(deployment.spec, replicas=1 if wanted is None else wanted),
        status=DeploymentStatus(available_replicas=available),
    )


def disowned(deployment: Deployment) -> Deployment:
    """The same Deployment without owners: a foreign one."""
    metadata = msgspec.structs.replace(deployment.metadata, owner_references=())
    return msgspec.structs.replace(deployment, metadata=metadata)
