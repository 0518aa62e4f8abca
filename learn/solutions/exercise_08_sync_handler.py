"""Chapter 8: make what exists match what is wanted."""

from handloop.apis.meta import is_controlled_by
from handloop.controller.foo.controller import new_deployment, scale_patch


def sync(name, foos, deployments, server):
    foo = foos.get_by_key(str(name))
    if foo is None:
        return
    deployment = deployments.get_by_key(f"{name.namespace}/{foo.spec.deployment_name}")
    if deployment is None:
        server.create(new_deployment(foo))
    elif not is_controlled_by(deployment, foo):
        raise RuntimeError("it belongs to another")
    elif foo.spec.replicas is not None and deployment.spec.replicas != foo.spec.replicas:
        patch = scale_patch(deployment, foo.spec.replicas)
        server.patch(deployment.metadata.name, patch, namespace=name.namespace)
