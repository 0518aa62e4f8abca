"""
What the MyApp controller tells people: an event when a status says something new, not when it says it again.

Both statuses are looked at, not a memory: a restart repeats nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from handloop.apis.conditions import TRUE, find_condition, is_condition_true
from handloop.apis.core_v1 import Service
from handloop.controller.myapp.status import (
    DEGRADED,
    DEPLOYMENT_READY,
    READY,
    RECONCILE_ERROR,
    RECONCILE_SUCCESS,
    SERVICE_READY,
)
from handloop.controller.myapp.types import MyApp, MyAppStatus
from handloop.controller.runtime.events.recorder import EVENT_TYPE_NORMAL, EVENT_TYPE_WARNING, EventRecorder


class MyAppReporter:
    """Records the events of the MyApp controller. State: none. Threads: any."""

    def __init__(self, recorder: EventRecorder) -> None:
        self._recorder = recorder

    def changed(self, app: MyApp, after: MyAppStatus, failures: Sequence[str]) -> None:
        """
        A status was written in the place of the one that app has.

        Args: failures are those of this reconcile: each is told unless the status before had it.
        """
        for text in _new_troubles(app.status, after, failures):
            self._recorder.event(app, EVENT_TYPE_WARNING, RECONCILE_ERROR, text)
        was_degraded = is_condition_true(app.status.conditions, DEGRADED)
        if was_degraded and not is_condition_true(after.conditions, DEGRADED):
            self._recorder.event(app, EVENT_TYPE_NORMAL, RECONCILE_SUCCESS, "No step fails any more")
        if not is_condition_true(app.status.conditions, READY) and is_condition_true(after.conditions, READY):
            text = f"Ready replicas: {after.ready_replicas}"
            self._recorder.event(app, EVENT_TYPE_NORMAL, DEPLOYMENT_READY, text)

    def serves(self, app: MyApp, service: Service) -> None:
        """The Service was written."""
        text = f"Service is a {service.spec.type} on port {app.spec.port}"
        self._recorder.event(app, EVENT_TYPE_NORMAL, SERVICE_READY, text)


def _new_troubles(before: MyAppStatus, after: MyAppStatus, failures: Sequence[str]) -> Sequence[str]:
    """
    The failures that the status before did not have; or else, when it comes to be Degraded, why.

    What a Deployment says of itself may change with every try, so only its beginning is told.
    """
    degraded = find_condition(before.conditions, DEGRADED)
    said = degraded.message if degraded is not None else ""
    new = [failure for failure in failures if failure not in said]
    if new or is_condition_true(before.conditions, DEGRADED):
        return new
    degraded = find_condition(after.conditions, DEGRADED)
    return [degraded.message] if degraded is not None and degraded.status == TRUE else []
