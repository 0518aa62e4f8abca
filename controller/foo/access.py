"""The requests that the Foo controller makes."""

from __future__ import annotations

from typing import Final

from handloop import Access
from handloop.apis.apps_v1 import Deployment
from handloop.apis.core_v1 import Event
from handloop.controller.foo.types import Foo

FOO_ACCESS: Final = (
    Access(resource=Foo.resource, verbs=("get", "list", "watch")),
    Access(resource=Foo.resource, subresource="status", verbs=("patch",)),
    Access(resource=Foo.resource, subresource="finalizers", verbs=("update",)),
    Access(resource=Deployment.resource, verbs=("create", "get", "list", "patch", "watch")),
    Access(resource=Event.resource, verbs=("create", "patch")),
)
