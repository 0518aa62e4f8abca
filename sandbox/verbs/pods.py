"""
What only pods have: logs, binding to a node, eviction; and the streams a sandbox cannot offer.

Follows: kubernetes pkg/registry/core/pod/{rest,storage}.
"""

from __future__ import annotations

from typing import Any, Final

from sandbox.cluster import pod_logs
from sandbox.requests import bodies
from sandbox.requests.call import Call, shallow_metadata
from sandbox.requests.request import Response
from sandbox.storage.stored import Object, Stored
from sandbox.verbs.deletion import remove
from sandbox.wire import go_time
from sandbox.wire.causes import invalid_value
from sandbox.wire.options import WriteOptions, delete_options, integer, write_options
from sandbox.wire.resource import GroupResource
from sandbox.wire.status import (
    StatusError,
    bad_request,
    failure,
    invalid_kind,
    not_found,
    not_implemented,
    success,
)

_BUDGETS: Final = GroupResource("policy", "poddisruptionbudgets")
_NO_STREAMS: Final = "the sandbox runs no containers, so there is nothing to {0}: use a real cluster for this"
_TEXT: Final = (("Content-Type", "text/plain"), ("Cache-Control", "no-cache, private"))


def logs(call: Call) -> Response:
    """Answer 200 with invented lines."""
    pod = _existing(call).object
    tail = integer(call.request.query.get("tailLines"))
    if tail is not None and tail < 0:
        cause = invalid_value("tailLines", tail, "must be greater than or equal to 0")
        raise invalid_kind("", "PodLogOptions", call.name, [cause])
    container = _container(call, pod)
    lines = pod_logs.lines(pod, container, now=call.context.now)
    chosen = lines if tail is None else lines[max(len(lines) - tail, 0) :]
    return Response(200, _TEXT, ("".join(f"{line}\n" for line in chosen).encode(),))


def refuse_stream(call: Call) -> Response:
    """Answer 501 with a hint that kubectl shows."""
    words = {"exec": "execute in", "attach": "attach to", "portforward": "forward to", "proxy": "reach"}
    raise not_implemented(_NO_STREAMS.format(words[call.path.subresource]))


def bind(call: Call) -> Response:
    """Put the pod on the node that a Binding names."""
    options = write_options(call.request.query, "CreateOptions")
    binding = _body(call)
    bind_to(call, (binding.get("target") or {}).get("name", ""), options)
    return call.answer_value(success(code=201), 201)


def bind_to(call: Call, node: str, options: WriteOptions) -> None:
    """Put the pod of the path on a node; a pod that has one stays there (409)."""
    pod = _existing(call).object
    assigned = (pod.get("spec") or {}).get("nodeName")
    if assigned:
        raise _bound(call, assigned)
    transaction = call.transaction(dry_run=options.dry_run)
    transaction.put(call.collection, _bound_pod(call, pod, node))
    call.commit(transaction)


def evict(call: Call) -> Response:
    """Delete the pod if its disruption budgets allow it, else answer 429."""
    eviction = _body(call)
    before = _existing(call)
    budget = _exhausted_budget(call, before.object)
    if budget is not None:
        raise _too_disruptive(budget)
    options = delete_options(call.request.query, eviction.get("deleteOptions"))
    transaction = call.transaction(dry_run=options.dry_run)
    remove(call, transaction, before, options)
    call.commit(transaction)
    return call.answer_value(success(code=201), 201)


def _existing(call: Call) -> Stored:
    stored = call.stored()
    if stored is None:
        raise not_found(call.resource, call.name)
    return stored


def _body(call: Call) -> Object:
    subresource = call.resource.subresource(call.path.subresource)
    assert subresource is not None
    group, version = subresource.group or call.resource.group, subresource.version or call.resource.version
    kind = subresource.kind
    package = f"api.{group or 'core'}.{version}.{kind}"
    from_path = bodies.pseudo_resource(group, version, kind, package)
    content_type = call.request.headers.get("content-type", "")
    return bodies.decode(call.request.body, content_type, from_path, call.catalog).object


def _container(call: Call, pod: Object) -> str:
    spec = pod.get("spec") or {}
    names = [entry["name"] for entry in (spec.get("containers") or [])]
    initial = [entry["name"] for entry in (spec.get("initContainers") or [])]
    wanted = call.request.query.get("container")
    if wanted:
        if wanted not in (*names, *initial):
            raise bad_request(f"container {wanted} is not valid for pod {call.name}")
        return wanted
    if len(names) > 1:
        choice = " ".join(names)
        raise bad_request(
            f"a container name must be specified for pod {call.name}, choose one of: [{choice}]"
        )
    first: str = names[0]
    return first


def _bound(call: Call, node: str) -> StatusError:
    text = f'pod {call.name} is already assigned to node "{node}"'
    details = {"name": call.name, "kind": "pods/binding"}
    message = f'Operation cannot be fulfilled on pods/binding "{call.name}": {text}'
    return StatusError(failure(409, "Conflict", message, details=details))


def _bound_pod(call: Call, pod: Object, node: str) -> Object:
    now = go_time.from_unix(call.context.now)
    condition = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    status = pod.get("status") or {}
    others = [entry for entry in status.get("conditions") or () if entry["type"] != "PodScheduled"]
    changed = {**pod, "spec": {**(pod.get("spec") or {}), "nodeName": node}}
    return {**shallow_metadata(changed), "status": {**status, "conditions": [*others, condition]}}


def _exhausted_budget(call: Call, pod: Object) -> Object | None:
    """A disruption budget that covers a ready pod and has nothing left."""
    if not _is_ready(pod):
        return None
    for budget in call.state.list(_BUDGETS, call.namespace):
        selector = (budget.get("spec") or {}).get("selector") or {}
        covered = _covers(selector, pod["metadata"].get("labels") or {})
        if covered and not (budget.get("status") or {}).get("disruptionsAllowed"):
            return budget
    return None


def _is_ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(entry["type"] == "Ready" and entry["status"] == "True" for entry in conditions)


def _covers(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    wanted = selector.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in wanted.items())


def _too_disruptive(budget: Object) -> StatusError:
    name = budget["metadata"]["name"]
    status = budget.get("status") or {}
    needed, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
    text = f"The disruption budget {name} needs {needed} healthy pods and has {healthy} currently"
    cause = {"reason": "DisruptionBudget", "message": text}
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    return StatusError(failure(429, "TooManyRequests", message, details={"causes": [cause]}))
