"""The requests that the MyApp controller makes."""

from __future__ import annotations

from typing import Final

from handloop.apis.apps_v1 import Deployment
from handloop.apis.autoscaling_v2 import HorizontalPodAutoscaler
from handloop.apis.core_v1 import Event, Service
from handloop.controller.myapp.types import MyApp
from handloop.controller.runtime.rbac.access import Access, owner_access

MYAPP_ACCESS: Final = (
    Access(resource=MyApp.resource, verbs=("get", "list", "watch")),
    Access(resource=MyApp.resource, subresource="status", verbs=("update",)),
    owner_access(MyApp.resource),
    Access(resource=Deployment.resource, verbs=("create", "list", "patch", "watch")),
    Access(resource=Service.resource, verbs=("create", "list", "patch", "watch")),
    Access(resource=HorizontalPodAutoscaler.resource, verbs=("create", "delete", "list", "patch", "watch")),
    Access(resource=Event.resource, verbs=("create", "patch")),
)
