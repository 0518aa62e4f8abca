"""Chapter 4: find the Deployments of a Foo without looking at all of them."""

from handloop.apis.meta import controller_of


def by_foo(deployment):
    owner = controller_of(deployment)
    if owner is None or owner.kind != "Foo":
        return []
    return [f"{deployment.metadata.namespace}/{owner.name}"]


def deployments_of(indexer, namespace, name):
    return indexer.by_index("foo", f"{namespace}/{name}")
