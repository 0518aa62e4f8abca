"""
ComponentStatuses, which report the health of the control plane's components.

They are not stored. In the sandbox, all components are healthy.

Follows: kubernetes pkg/registry/core/componentstatus/rest.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from handloop_sandbox.requests.call import Call
from handloop_sandbox.requests.request import Response
from handloop_sandbox.storage.stored import Object, Stored
from handloop_sandbox.verbs.reading import predicate
from handloop_sandbox.wire.options import list_options
from handloop_sandbox.wire.status import StatusError, failure

_COMPONENTS: Final = ("controller-manager", "scheduler", "etcd-0")


def _all(call: Call) -> Iterator[Object]:
    for name in _COMPONENTS:
        condition = {"type": "Healthy", "status": "True", "message": "ok"}
        kind = {"kind": call.resource.kind, "apiVersion": call.resource.api_version}
        yield {**kind, "metadata": {"name": name}, "conditions": [condition]}


def get_status(call: Call) -> Response:
    """Answer 200 with one component. Raises: StatusError 404 if it does not exist."""
    found = next((obj for obj in _all(call) if obj["metadata"]["name"] == call.name), None)
    if found is None:
        details = {"name": call.name, "kind": "componentstatus"}
        text = f'componentstatus "{call.name}" not found'
        raise StatusError(failure(404, "NotFound", text, details=details))
    return call.answer(Stored(found, 0))


def list_statuses(call: Call) -> Response:
    """Answer 200 with all components that match the selectors."""
    matches = predicate(call, list_options(call.request.query, watch=False))
    items = [Stored(obj, 0) for obj in _all(call) if matches is None or matches(obj)]
    return Response(200, call.headers(), call.presentation().many(items, {}, call.context.now))


def watch_statuses(call: Call) -> Response:
    """Refuse (405), because component statuses cannot be watched."""
    text = f'watch is not supported on resources of kind "{call.resource.plural}"'
    raise StatusError(failure(405, "MethodNotAllowed", text, details={"kind": call.resource.plural}))
