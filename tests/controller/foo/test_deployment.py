"""The Deployment of a Foo."""

from __future__ import annotations

import msgspec

from handloop.controller.foo.controller import new_deployment, scale_patch
from support.builders.foo_builders import new_deployment as stored_deployment
from support.builders.foo_builders import new_foo


def test_the_deployment_a_foo_wants() -> None:
    """nginx, selected by app and Foo name, with one owner that controls it and blocks its deletion."""
    labels = {"app": "nginx", "controller": "example-foo"}
    assert msgspec.json.decode(msgspec.json.encode(new_deployment(new_foo(replicas=3)))) == {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {
            "name": "example-foo-deployment",
            "namespace": "default",
            "ownerReferences": [
                {
                    "apiVersion": "samplecontroller.k8s.io/v1alpha1",
                    "kind": "Foo",
                    "name": "example-foo",
                    "uid": "uid-of-default-example-foo",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "nginx", "image": "nginx:latest"}]},
            },
        },
    }


def test_a_scale_patch_holds_for_one_version_of_one_object() -> None:
    """The patch carries resource version and UID, and no field but the replicas."""
    assert scale_patch(stored_deployment(new_foo(), resource_version="7"), 3) == {
        "metadata": {"resourceVersion": "7", "uid": "uid-of-default-example-foo-deployment"},
        "spec": {"replicas": 3},
    }
