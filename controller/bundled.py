"""Foo and MyApp: their kinds, their needs of a cluster, the fields that caches keep of them."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment
from handloop.apis.autoscaling_v2 import HorizontalPodAutoscaler
from handloop.apis.core_v1 import Event, PodTemplateSpec, Service
from handloop.apis.meta import EMPTY_MAP, controller_of
from handloop.controller.cli.operator import Setup
from handloop.controller.foo.access import FOO_ACCESS
from handloop.controller.foo.types import Foo
from handloop.controller.myapp.types import MyApp
from handloop.controller.runtime.rbac.access import Access, owner_access

_APPLY: Final = ("create", "get", "list", "patch", "watch")
MYAPP_ACCESS: Final = (
    Access(resource=MyApp.resource, verbs=("get", "list", "watch")),
    Access(resource=MyApp.resource, subresource="status", verbs=("update",)),
    owner_access(MyApp.resource),
    Access(resource=Deployment.resource, verbs=_APPLY),
    Access(resource=Service.resource, verbs=_APPLY),
    Access(resource=HorizontalPodAutoscaler.resource, verbs=("delete", *_APPLY)),
    Access(resource=Event.resource, verbs=("create", "patch")),
)
"""What add_myapp declares. The checks read it before the controller is imported, so they begin sooner."""

SETUPS: Final = (
    Setup(
        name="foo",
        kinds=(Foo,),
        access=FOO_ACCESS,
        sample="manifests/samples/foo.yaml",
        shown="foo,deployment,pod",
    ),
    Setup(name="myapp", kinds=(MyApp,), access=MYAPP_ACCESS, sample="manifests/samples/myapp.yaml"),
)


_MYAPP: Final = (MyApp.resource.group, MyApp.resource.kind)
_NO_TEMPLATE: Final = PodTemplateSpec()


def cached_fields(obj: Any) -> Any:
    """
    The transform of the shared informers: the fields of an object that the caches keep. Pure and idempotent.

    Most Deployments of a cluster belong neither to a Foo nor to a MyApp. For these, and for those that Foos
    own, the owner and the replicas, wanted and available, are enough. Pod template, conditions and
    annotations, with the copy that kubectl apply leaves there, are more than half of a Deployment in memory.

    Other kinds, and Deployments that a MyApp controls, are kept whole.
    """
    if obj.__class__ is not Deployment:
        return obj
    owner = controller_of(obj)
    if owner is not None and (owner.api_version.partition("/")[0], owner.kind) == _MYAPP:
        return obj
    metadata, spec, status = obj.metadata, obj.spec, obj.status
    if spec.template is _NO_TEMPLATE and not metadata.annotations and not status.conditions:
        return obj
    return replace(
        obj,
        metadata=replace(metadata, annotations=EMPTY_MAP),
        spec=replace(spec, template=_NO_TEMPLATE),
        status=replace(status, conditions=()),
    )
