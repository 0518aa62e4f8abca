"""The Deployment of a Foo: how it is made, and how it is scaled."""

from __future__ import annotations

from typing import Any

from handloop.apis.apps_v1 import Deployment, DeploymentSpec, LabelSelector
from handloop.apis.core_v1 import Container, PodSpec, PodTemplateSpec
from handloop.apis.meta import FrozenMap, ObjectMeta, new_controller_ref
from handloop.controller.foo.types import Foo


def new_deployment(foo: Foo) -> Deployment:
    """The Deployment that a Foo wants: nginx, controlled by the Foo, so that it goes when the Foo goes."""
    labels = FrozenMap({"app": "nginx", "controller": foo.metadata.name})
    return Deployment(
        metadata=ObjectMeta(
            name=foo.spec.deployment_name,
            namespace=foo.metadata.namespace,
            owner_references=(new_controller_ref(foo),),
        ),
        spec=DeploymentSpec(
            replicas=foo.spec.replicas,
            selector=LabelSelector(match_labels=labels),
            template=PodTemplateSpec(
                metadata=ObjectMeta(labels=labels),
                spec=PodSpec(containers=(Container(name="nginx", image="nginx:latest"),)),
            ),
        ),
    )


def scale_patch(deployment: Deployment, replicas: int) -> dict[str, Any]:
    """A merge patch that holds only for the very state that was seen: else the server answers Conflict."""
    metadata = deployment.metadata
    return {
        "metadata": {"resourceVersion": metadata.resource_version, "uid": metadata.uid},
        "spec": {"replicas": replicas},
    }
