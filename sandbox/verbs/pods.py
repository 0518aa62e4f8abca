"""
What only pods have: logs and binding to a node; and the streams a sandbox cannot offer.

Follows: kubernetes pkg/registry/core/pod/{rest,storage}.
"""

from __future__ import annotations

from typing import Final

from handloop.sandbox.cluster import pod_logs
from handloop.sandbox.requests import bodies
from handloop.sandbox.requests.call import Call, shallow_metadata
from handloop.sandbox.requests.request import Response
from handloop.sandbox.storage.stored import Object, Stored
from handloop.sandbox.wire import go_time
from handloop.sandbox.wire.causes import invalid_value
from handloop.sandbox.wire.options import WriteOptions, integer, write_options
from handloop.sandbox.wire.status import (
    StatusError,
    bad_request,
    failure,
    internal_error,
    invalid_kind,
    not_found,
    not_implemented,
    success,
)

_NO_STREAMS: Final = "the sandbox runs no containers, so there is nothing to {0}: use a real cluster for this"
_TEXT: Final = (("Content-Type", "text/plain"), ("Cache-Control", "no-cache, private"))


def logs(call: Call) -> Response:
    """Answer 200 with invented lines."""
    pod = existing(call).object
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
    binding = sent(call)
    target = binding.get("target") or {}
    problems = _target_problems(target)
    if problems:
        raise internal_error(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
    bind_to(call, target["name"], options)
    return call.answer_value(success(code=201), 201)


def bind_to(call: Call, node: str, options: WriteOptions) -> None:
    """Put the pod of the path on a node; a pod that has one stays there (409)."""
    pod = existing(call).object
    assigned = (pod.get("spec") or {}).get("nodeName")
    if assigned:
        raise _bound(call, assigned)
    transaction = call.transaction(dry_run=options.dry_run)
    transaction.put(call.collection, _bound_pod(call, pod, node))
    call.commit(transaction)


def _target_problems(target: Object) -> list[str]:
    kind, problems = target.get("kind", ""), []
    if kind not in ("", "Node"):
        problems.append(f'target.kind: Unsupported value: "{kind}": supported values: "Node", "<empty>"')
    if not target.get("name"):
        problems.append("target.name: Required value")
    return problems


def existing(call: Call) -> Stored:
    """
    The pod of the path.

    Raises: StatusError 404.
    """
    stored = call.stored()
    if stored is None:
        raise not_found(call.resource, call.name)
    return stored


def sent(call: Call) -> Object:
    """
    The object that is sent to a subresource of the pod.

    Raises: StatusError 400 when it is about another pod.
    """
    subresource = call.resource.subresource(call.path.subresource)
    assert subresource is not None
    group, version = subresource.group or call.resource.group, subresource.version or call.resource.version
    kind = subresource.kind
    package = f"api.{group or 'core'}.{version}.{kind}"
    from_path = bodies.pseudo_resource(group, version, kind, package)
    content_type = call.request.headers.get("content-type", "")
    obj = bodies.decode(call.request.body, content_type, from_path, call.catalog).object
    if obj["metadata"].get("name", "") != call.name:
        raise bad_request(f"name in URL does not match name in {kind} object")
    return obj


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
