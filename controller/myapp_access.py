"""What the MyApp controller asks of the API server."""

from __future__ import annotations

from typing import Final

from apis.apps_v1 import Deployment
from apis.autoscaling_v2 import HorizontalPodAutoscaler
from apis.core_v1 import Event, Service
from apis.example_v1 import MyApp
from controller.access import Access

MYAPP_ACCESS: Final = (
    Access(resource=MyApp.resource, verbs=("list", "watch")),
    Access(resource=MyApp.resource, subresource="status", verbs=("update",)),
    Access(resource=Deployment.resource, verbs=("create", "list", "patch", "watch")),
    Access(resource=Service.resource, verbs=("create", "list", "patch", "watch")),
    Access(resource=HorizontalPodAutoscaler.resource, verbs=("create", "delete", "list", "patch", "watch")),
    Access(resource=Event.resource, verbs=("create", "patch")),
)
