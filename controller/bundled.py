"""The declarations of Foo and MyApp: their kinds, the access they need and the Deployment fields to cache."""

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
"""The access that add_myapp declares, listed here so that checks start without importing the controller."""

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
The kinds that the caches decode only in part.

Most Deployments in a cluster belong to neither a Foo nor a MyApp. For these, and for those that Foos own, the
owner and the numbers of wanted and available replicas are enough. The pod template, selector, conditions and
annotations take up more than half of a Deployment's memory. Deployments that a MyApp controls are decoded
whole.
"""
