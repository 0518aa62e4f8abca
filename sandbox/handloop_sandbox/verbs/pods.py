"""
The subresources of pods: log, binding and eviction, and streams such as exec, which the sandbox refuses.

An eviction deletes a pod if its disruption budget allows this. Logs are simulated.
Follows: kubernetes pkg/registry/core/pod/{rest,storage} (binding, log, eviction).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from handloop_sandbox.cluster.workloads import is_pod_ready
from handloop_sandbox.grammar.times import parse_time
from handloop_sandbox.requests import bodies
from handloop_sandbox.requests.call import Call, shallow_metadata
from handloop_sandbox.requests.request import Response
from handloop_sandbox.storage.stored import Object, Stored
from handloop_sandbox.verbs.deletion import remove
from handloop_sandbox.wire import go_time
from handloop_sandbox.wire.causes import invalid_value
from handloop_sandbox.wire.human import human_duration
from handloop_sandbox.wire.label_selector import matches
from handloop_sandbox.wire.options import WriteOptions, delete_options, integer, write_options
from handloop_sandbox.wire.resource import GroupResource
from handloop_sandbox.wire.status import (
    StatusError,
    bad_request,
    failure,
    internal_error,
    invalid_kind,
    not_found,
    not_implemented,
    success,
)


def _log_lines(pod: Object, container: str, *, now: float) -> list[str]:
    """Return the simulated log of a pod's container. It is empty if the container has never run."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    status = next((entry for entry in statuses if entry["name"] == container), None)
    return [] if status is None else list(_story(pod, status, now))


def _story(pod: Object, status: dict[str, Any], now: float) -> Iterator[str]:
    running = status["state"].get("running")
    ended = status["state"].get("terminated") or (status.get("lastState") or {}).get("terminated")
    if not running and not ended:
        return
    yield f"sandbox: this is a simulated container of image {status['image']}; nothing is executed"
    yield f"sandbox: started {status['name']} in pod {pod['metadata']['name']}"
    if ended and not running:
        yield from _last_words(ended)
    if not running:
        return
    if status["restartCount"]:
        yield f"sandbox: restarted {status['restartCount']} times"
    if status["ready"]:
        yield "sandbox: ready"
    yield f"sandbox: running for {human_duration(now - parse_time(running['startedAt']))}"


def _last_words(ended: dict[str, Any]) -> Iterator[str]:
    if ended["exitCode"]:
        yield f"sandbox: error: {ended['reason']}"
    yield f"sandbox: exited with code {ended['exitCode']}"


_NO_STREAMS: Final = "the sandbox runs no containers, so you cannot {0} one: use a real cluster for this"
_TEXT: Final = (("Content-Type", "text/plain"), ("Cache-Control", "no-cache, private"))


def logs(call: Call) -> Response:
    """Answer 200 with a simulated log."""
    pod = existing(call).object
    tail = integer(call.request.query.get("tailLines"))
    if tail is not None and tail < 0:
        cause = invalid_value("tailLines", tail, "must be greater than or equal to 0")
        raise invalid_kind("", "PodLogOptions", call.name, [cause])
    container = _container(call, pod)
    lines = _log_lines(pod, container, now=call.context.now)
    chosen = lines if tail is None else lines[max(len(lines) - tail, 0) :]
    return Response(200, _TEXT, ("".join(f"{line}\n" for line in chosen).encode(),))


def refuse_stream(call: Call) -> Response:
    """Answer 501 with a hint, 404 for a missing object, or 400 for an unknown or ambiguous container."""
    words = {"exec": "execute in", "attach": "attach to", "portforward": "forward to", "proxy": "reach"}
    subresource, parts = call.path.subresource, call.name.split(":")
    name = parts[len(parts) // 2] if subresource == "proxy" else call.name  # `NAME:PORT`, `https:NAME:PORT`
    stored = call.state.stored(call.collection, call.namespace, name)
    if stored is None:
        raise not_found(call.resource, name)
    if subresource in ("exec", "attach"):
        _container(call, stored.object)
    raise not_implemented(_NO_STREAMS.format(words[subresource]))


def bind(call: Call) -> Response:
    """Assign the pod in the path to the node that a Binding names."""
    options = write_options(call.request.query, "CreateOptions")
    binding = sent(call)
    target = binding.get("target") or {}
    problems = _target_problems(target)
    if problems:
        raise internal_error(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
    bind_to(call, target["name"], options)
    return call.answer_value(success(code=201), 201)


def bind_named(call: Call) -> Response:
    """Assign the pod with the Binding's name to the Binding's node. This is an older form of bind()."""
    name = metadata_name(call)
    if not name:
        raise bad_request("Name parameter required.")
    pods = call.catalog.find("", "v1", "pods")
    assert pods is not None
    path = call.path._replace(plural="pods", name=name, subresource="binding")
    return bind(replace(call, resource=pods, path=path))


def metadata_name(call: Call) -> str:
    """Return the name of the object in the request's body."""
    content_type = call.request.headers.get("content-type", "")
    obj = bodies.decode(call.request.body, content_type, call.resource, call.catalog).object
    return str(obj["metadata"].get("name") or "")


def bind_to(call: Call, node: str, options: WriteOptions) -> None:
    """Assign the pod in the path to a node. Refuse (409) a pod that is already assigned."""
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
    """Return the pod in the path. Raises: StatusError 404 if it does not exist."""
    stored = call.stored()
    if stored is None:
        raise not_found(call.resource, call.name)
    return stored


def sent(call: Call) -> Object:
    """
    Return the object in the body of a request for one of a pod's subresources.

    Raises: StatusError 400 if the object names another pod.
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


_BUDGETS: Final = GroupResource("policy", "poddisruptionbudgets")
_NOT_GUARDED: Final = ("Failed", "Pending", "Succeeded")
_VIOLATION: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_TOO_MANY: Final = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
)
_RETRY_SECONDS: Final = 10


def evict(call: Call) -> Response:
    """Delete the pod if its disruption budget allows this. Otherwise return 429."""
    eviction = sent(call)
    before = existing(call)
    options = delete_options(call.request.query, eviction.get("deleteOptions"))
    transaction = call.transaction(dry_run=options.dry_run)
    spent = _spent(_budget(call, before.object), before.object)
    if spent is not None:
        transaction.put(_BUDGETS, spent)
    remove(call, transaction, before, options)
    call.commit(transaction)
    return call.answer_value(success(code=201), 201)


def _budget(call: Call, pod: Object) -> Object | None:
    """
    Return the budget that protects a pod, or None.

    Budgets do not protect a pod that is not running or is being deleted.
    Raises: StatusError 500 if more than one budget selects the pod.
    """
    if pod["metadata"].get("deletionTimestamp") or (pod.get("status") or {}).get("phase") in _NOT_GUARDED:
        return None
    labels = pod["metadata"].get("labels") or {}
    budgets: list[Object] = call.state.list(_BUDGETS, call.namespace)
    found = [budget for budget in budgets if matches((budget.get("spec") or {}).get("selector"), labels)]
    if len(found) > 1:
        raise StatusError(failure(500, "", _TOO_MANY))
    return found[0] if found else None


def _spent(budget: Object | None, pod: Object) -> Object | None:
    """
    Return the budget with one fewer allowed disruption, or None if the eviction does not use the budget.

    Raises: StatusError 429 if the budget allows no disruption, or if the disruption controller has not yet
    processed the budget's latest generation.
    """
    if budget is None:
        return None
    status = budget.get("status") or {}
    if not is_pod_ready(pod) and _spares_unready(budget, status):
        return None
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _unknown_yet(budget)
    left = status.get("disruptionsAllowed", 0)
    if not left:
        raise _too_disruptive(budget, status)
    return {**budget, "status": {**status, "disruptionsAllowed": left - 1}}


def _spares_unready(budget: Object, status: dict[str, Any]) -> bool:
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    desired, healthy = int(status.get("desiredHealthy", 0)), int(status.get("currentHealthy", 0))
    return 0 < desired <= healthy


def _unknown_yet(budget: Object) -> StatusError:
    text = f"The disruption budget {budget['metadata']['name']} is still being processed by the server."
    details = {
        "causes": [{"reason": "DisruptionBudget", "message": text}],
        "retryAfterSeconds": _RETRY_SECONDS,
    }
    return StatusError(failure(429, "TooManyRequests", _VIOLATION, details=details))


def _too_disruptive(budget: Object, status: dict[str, Any]) -> StatusError:
    needed, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
    text = (
        f"The disruption budget {budget['metadata']['name']} needs {needed} healthy pods "
        f"and has {healthy} currently"
    )
    cause = {"reason": "DisruptionBudget", "message": text}
    return StatusError(failure(429, "TooManyRequests", _VIOLATION, details={"causes": [cause]}))
