"""Foo and MyApp: their kinds, their needs of a cluster, what caches keep of Deployments."""

from __future__ import annotations

from typing import Final

from handloop.apis.apps_v1 import Deployment
from handloop.apis.autoscaling_v2 import HorizontalPodAutoscaler
from handloop.apis.core_v1 import Event, Service
from handloop.apis.meta import controller_of
from handloop.apis.without import Abridged, without
from handloop.controller.cli.operator import Setup
from handloop.controller.foo.access import FOO_ACCESS
from handloop.controller.foo.types import Foo
from handloop.controller.myapp.types import MyApp
from handloop.controller.runtime.rbac.access import PAUSING_NAMESPACES, Access, owner_access

_APPLY: Final = ("create", "get", "list", "patch", "watch")
MYAPP_ACCESS: Final = (
    Access(resource=MyApp.resource, verbs=("get", "list", "watch")),
    Access(resource=MyApp.resource, subresource="status", verbs=("patch",)),
    owner_access(MyApp.resource),
    Access(resource=Deployment.resource, verbs=_APPLY),
    Access(resource=Service.resource, verbs=_APPLY),
    Access(resource=HorizontalPodAutoscaler.resource, verbs=("delete", *_APPLY)),
    PAUSING_NAMESPACES,
    Access(resource=Event.resource, verbs=("create", "patch")),
)
"""What add_myapp declares. The checks read it before the controller is imported, so they begin sooner."""

SETUPS: Final = (
    Setup(
        name="foo",
        kinds=(Foo,),
        written=(Deployment,),
        access=FOO_ACCESS,
        sample="manifests/samples/foo.yaml",
        shown="foo,deployment,pod",
    ),
    Setup(
        name="myapp",
        kinds=(MyApp,),
        written=(Deployment, Service, HorizontalPodAutoscaler),
        access=MYAPP_ACCESS,
        sample="manifests/samples/myapp.yaml",
    ),
)


def _is_of_a_myapp(deployment: Deployment) -> bool:
    owner = controller_of(deployment)
    return owner is not None and (owner.api_version.partition("/")[0], owner.kind) == _MYAPP


_MYAPP: Final = (MyApp.resource.group, MyApp.resource.kind)
ABRIDGED: Final = (
    Abridged(
        Deployment,
        without(Deployment, "metadata.annotations", "spec.selector", "spec.template", "status.conditions"),
        needs_whole=_is_of_a_myapp,
    ),
)
"""
What the caches decode in part.

Most Deployments of a cluster belong neither to a Foo nor to a MyApp. For these, and for those that Foos own,
the owner and the replicas, wanted and available, are enough. Pod template, selector, conditions and
annotations are more than half of a Deployment in memory. Deployments that a MyApp controls are decoded whole.
"""
