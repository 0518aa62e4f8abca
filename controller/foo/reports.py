"""
What the Foo controller tells people: the events on a Foo, and the log lines that go with them.

Reasons and messages are sample-controller's; InvalidObject is ours.
"""

from __future__ import annotations

from typing import Final

import structlog
from cachetools import LRUCache

from handloop.apis.apps_v1 import Deployment
from handloop.apis.core_v1 import ObjectReference
from handloop.apis.meta import controller_of
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.events.recorder import EVENT_TYPE_NORMAL, EVENT_TYPE_WARNING, EventRecorder
from handloop.informers.keys import ObjectName, object_name
from handloop.workqueue.locks import new_lock

log = structlog.get_logger("foo")

SUCCESS_SYNCED: Final = "Synced"
ERR_RESOURCE_EXISTS: Final = "ErrResourceExists"
INVALID_OBJECT: Final = "InvalidObject"
MESSAGE_RESOURCE_SYNCED: Final = "Foo synced successfully"
MESSAGE_RESOURCE_EXISTS: Final = 'Resource "{}" already exists and is not managed by Foo'

_REMEMBERED: Final = 4096


class FooControllerError(Exception):
    """Root of what this controller raises itself."""


class ResourceExistsError(FooControllerError):
    """The Deployment that a Foo names belongs to somebody else; retrying helps once it is gone."""


class FooReporter:
    """
    Records the events of the Foo controller.

    State, under _lock: _invalid = Foo -> the resource version that was last reported, for the last 4096 Foos.
    Threads: any.
    """

    def __init__(self, recorder: EventRecorder) -> None:
        self._recorder = recorder
        self._lock = new_lock("FooReporter._lock", 95)
        self._invalid: LRUCache[ObjectName, str] = LRUCache(_REMEMBERED)

    def missing(self, name: ObjectName) -> None:
        """A queued Foo is gone."""
        log.error("Foo referenced by item in work queue no longer exists", objectReference=name)

    def synced(self, foo: Foo) -> None:
        """A Foo and its Deployment are in step again."""
        self._recorder.event(foo, EVENT_TYPE_NORMAL, SUCCESS_SYNCED, MESSAGE_RESOURCE_SYNCED)

    def foreign(self, foo: Foo, deployment: Deployment) -> ResourceExistsError:
        """
        The name of the Deployment is taken.

        Returns: the error to raise.
        """
        message = MESSAGE_RESOURCE_EXISTS.format(deployment.metadata.name)
        self._recorder.event(foo, EVENT_TYPE_WARNING, ERR_RESOURCE_EXISTS, message)
        owner = controller_of(deployment)
        text = f"{object_name(deployment)} exists and is not managed by Foo {object_name(foo)}"
        log.warning(
            text,
            code="E14",
            cause=f"owner: {owner.kind} {owner.name}" if owner else "owner: none",
            fix="delete it or change spec.deploymentName",
        )
        return ResourceExistsError(message)

    def invalid(self, foo: ObjectReference, what: str, message: str) -> None:
        """A Foo cannot work as it is: said once per resource version."""
        name = ObjectName(foo.namespace, foo.name)
        with self._lock:
            if self._invalid.get(name) == foo.resource_version:
                return
            self._invalid[name] = foo.resource_version
        log.error(what, objectReference=name, err=message)
        self._recorder.event(foo, EVENT_TYPE_WARNING, INVALID_OBJECT, message)
