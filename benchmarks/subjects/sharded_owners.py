"""
A program whose owners each have a Deployment.

By its label, the Deployment is sent to the owner's replica.
"""

from __future__ import annotations

from handloop import APIStruct, Context, FrozenMap, Kind, Manager, ObjectMeta, controller_for, main
from handloop.kinds.apps_v1 import Deployment, DeploymentSpec
from handloop.kinds.core_v1 import Container, PodSpec, PodTemplateSpec
from handloop.kinds.meta_v1 import LabelSelector


class OwnerSpec(APIStruct):
    """How many replicas its Deployment has."""

    replicas: int = 1


class Owner(Kind, group="bench.handloop.dev", version="v1"):
    """An owner of a Deployment."""

    spec: OwnerSpec


def reconcile(owner: Owner, context: Context) -> None:
    """Make the Deployment."""
    labels = FrozenMap({"app": owner.metadata.name})
    pod = PodSpec(containers=(Container(name="web", image="nginx:1.27"),))
    template = PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=pod)
    selector = LabelSelector(match_labels=labels)
    spec = DeploymentSpec(replicas=owner.spec.replicas, selector=selector, template=template)
    context.apply(Deployment.named(owner, spec=spec), owner=owner)


def set_up(manager: Manager) -> None:
    """Add the controller."""
    builder = controller_for(manager, "owner").for_(Owner).owns(Deployment)
    builder.writes(Deployment, "create", "patch").complete(reconcile)


if __name__ == "__main__":
    main(set_up, name="owners")
