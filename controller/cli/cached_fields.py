"""
The fields of an object that the caches of this program keep.

Most Deployments of a cluster belong neither to a Foo nor to a MyApp. Of these, and of those that Foos own, it
is enough to know the owner and the replicas, wanted and available. Pod template, conditions and annotations,
with the copy that kubectl apply leaves there, are more than half of a Deployment in memory.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment
from handloop.apis.core_v1 import PodTemplateSpec
from handloop.apis.meta import EMPTY_MAP, controller_of
from handloop.controller.myapp.types import MyApp

_MYAPP: Final = (MyApp.resource.group, MyApp.resource.kind)
_NO_TEMPLATE: Final = PodTemplateSpec()


def cached_fields(obj: Any) -> Any:
    """
    The transform of the shared informers: the object, or less of it. Pure and idempotent.

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
