"""
The life of one pod on its node, stage by stage.

    BOUND -> PULLING -> CREATED -> RUNNING <-> READY -> TERMINATING -> gone
                |                     |
           PULL_FAILED             CRASHED -> RUNNING (the first time at once)
                |                     |
           PULL_BACK_OFF           BACK_OFF -> RUNNING

Each stage has a function that starts it and decides what is written and how long the stage lasts. Each step
reads the pod's fault again, so the removal of a fault takes effect with the next step.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from handloop_sandbox.cluster import pod_status
from handloop_sandbox.cluster.pod_faults import PodFault
from handloop_sandbox.cluster.pod_run import Message, PodRun, Situation, Stage, Transition
from handloop_sandbox.cluster.workloads import is_pod_finished
from handloop_sandbox.grammar.times import format_time
from handloop_sandbox.storage.stored import Object

BOUND_SECONDS = 0.02
PULL_SECONDS = 0.8
SLOW_PULL_FACTOR = 10
CREATE_SECONDS = 0.2
READY_SECONDS = 0.7
CRASH_SECONDS = 0.5
RUN_SECONDS = 1.0  # run time of a container that is not restarted
STOP_SECONDS = 1.0
FLAKY_SECONDS = 5.0
PROBE_SECONDS = 10.0
BACK_OFF_SECONDS = 10.0  # doubles up to MAX_BACK_OFF_SECONDS, as in a kubelet
MAX_BACK_OFF_SECONDS = 300.0
_FIRST_RESTART_SECONDS = 0.5
_PULL_ERROR_SECONDS = 1.0

_STARTED_FAULTS = (PodFault.CRASH, PodFault.OOM)


def advance(run: PodRun, situation: Situation) -> Transition:
    """Move a pod whose stage has ended to its next stage."""
    return _NEXT[run.stage](run, situation)


def _pull(run: PodRun, at: Situation) -> Transition:
    run.stage = Stage.PULLING
    factor = SLOW_PULL_FACTOR if at.has(PodFault.SLOW) else 1
    messages = [
        Message("Normal", "Pulling", f'Pulling image "{container["image"]}"', container["name"])
        for container in at.containers
        if run.pull_failures == 0 or at.active_fault is None or at.with_fault(container)
    ]
    transition = Transition(messages=messages, seconds=PULL_SECONDS * factor, jittered=True)
    if run.pull_failures == 0:
        containers = [pod_status.waiting(at.pod, c, reason="ContainerCreating") for c in at.containers]
        transition.pod = _with(at, containers, phase="Pending", **_placed(at))
    return transition


def _placed(at: Situation) -> dict[str, Any]:
    started = (at.pod.get("status") or {}).get("startTime") or format_time(at.now)
    return {"hostIP": at.host_ip, "hostIPs": [{"ip": at.host_ip}], "startTime": started}


def _pulled(run: PodRun, at: Situation) -> Transition:
    if at.has(PodFault.PULL_FAIL):
        return _fail_pull(run, at)
    run.stage = Stage.CREATED
    messages: list[Message] = []
    for container in at.containers:
        text = _pulled_text(container["image"], at.now - run.entered_at)
        messages.append(Message("Normal", "Pulled", text, container["name"]))
        messages.append(Message("Normal", "Created", "Container created", container["name"]))
    return Transition(messages=messages, seconds=CREATE_SECONDS, jittered=True)


def _pulled_text(image: str, seconds: float) -> str:
    took = f"{round(seconds * 1000)}ms" if seconds < 1 else f"{seconds:.3f}s"
    size = zlib.crc32(image.encode()) % 200_000_000
    return (
        f'Successfully pulled image "{image}" in {took} ({took} including waiting). Image size: {size} bytes.'
    )


def _fail_pull(run: PodRun, at: Situation) -> Transition:
    run.stage = Stage.PULL_FAILED
    run.pull_failures += 1
    messages: list[Message] = []
    for container in filter(at.with_fault, at.containers):
        text = f'Failed to pull image "{container["image"]}": {_pull_error(container)}'
        messages.append(Message("Warning", "Failed", text, container["name"]))
        messages.append(Message("Warning", "Failed", "Error: ErrImagePull", container["name"]))
    pod = _with_pull_state(at, "ErrImagePull", _pull_error)
    return Transition(pod, messages, seconds=_PULL_ERROR_SECONDS)


def _back_off_pull(run: PodRun, at: Situation) -> Transition:
    run.stage = Stage.PULL_BACK_OFF
    messages: list[Message] = []
    for container in filter(at.with_fault, at.containers):
        text = f'Back-off pulling image "{container["image"]}"'
        messages.append(Message("Normal", "BackOff", text, container["name"]))
        messages.append(Message("Warning", "Failed", "Error: ImagePullBackOff", container["name"]))
    pod = _with_pull_state(at, "ImagePullBackOff", _back_off_text)
    return Transition(pod, messages, seconds=back_off(run.pull_failures))


def _pull_error(container: dict[str, Any]) -> str:
    return f'failed to resolve reference "{container["image"]}": not found'


def _back_off_text(container: dict[str, Any]) -> str:
    return f'Back-off pulling image "{container["image"]}": ErrImagePull: {_pull_error(container)}'


def _with_pull_state(at: Situation, reason: str, text: Callable[[dict[str, Any]], str]) -> Object:
    containers = [
        pod_status.waiting(at.pod, container, reason=reason, message=text(container))
        if at.with_fault(container)
        else pod_status.container_status(at.pod, container["name"])
        for container in at.containers
    ]
    return _with(at, containers)


def back_off(failures: int) -> float:
    """Return the delay after this many consecutive failures: 10 s, 20 s, 40 s and so on, up to 300 s."""
    return float(min(BACK_OFF_SECONDS * 2 ** (failures - 1), MAX_BACK_OFF_SECONDS))


def _start(run: PodRun, at: Situation) -> Transition:
    """Start the containers that are not running: all in a new pod, the crashed ones in an old one."""
    run.stage = Stage.RUNNING
    run.pull_failures = 0
    messages: list[Message] = []
    statuses: list[dict[str, Any]] = []
    for container in at.containers:
        status = pod_status.container_status(at.pod, container["name"])
        if "running" in status["state"]:
            statuses.append(status)
            continue
        restarted = bool(status["state"].get("terminated") or status["lastState"])
        messages += _start_messages(container, restarted=restarted)
        statuses.append(pod_status.running(at.pod, container, now=at.now, restarted=restarted))
    addresses = {"podIP": run.ip, "podIPs": [{"ip": run.ip}]}
    init = {"initContainerStatuses": inits} if (inits := pod_status.init_statuses(at.pod, at.now)) else {}
    transition = Transition(_with(at, statuses, phase="Running", **addresses, **init), messages)
    transition.seconds = CRASH_SECONDS if at.has(*_STARTED_FAULTS) else READY_SECONDS
    transition.jittered = True
    return transition


def _start_messages(container: dict[str, Any], *, restarted: bool) -> Iterator[Message]:
    if restarted:
        text = f'Container image "{container["image"]}" already present on machine'
        yield Message("Normal", "Pulled", text, container["name"])
        yield Message("Normal", "Created", "Container created", container["name"])
    yield Message("Normal", "Started", "Container started", container["name"])


def _probe(run: PodRun, at: Situation) -> Transition:
    """End the running stage: the pod crashes, stays unready, or becomes ready."""
    if at.has(*_STARTED_FAULTS):
        return _crash(run, at)
    if at.has(PodFault.NEVER_READY):
        return Transition(_with_readiness(at), _unhealthy(at), seconds=PROBE_SECONDS)
    run.stage = Stage.READY
    run.crashes = 0
    return Transition(_with_readiness(at, with_fault=True), seconds=_ready_seconds(at))


def _ready_seconds(at: Situation) -> float | None:
    if _ends(at):
        return RUN_SECONDS
    return FLAKY_SECONDS if at.has(PodFault.FLAKY) else None


def _ends(at: Situation) -> bool:
    """Return whether the containers exit by themselves."""
    return at.pod["spec"].get("restartPolicy", "Always") != "Always" and not at.has(PodFault.HOLD)


def _after_ready(run: PodRun, at: Situation) -> Transition:
    """End the ready stage if a fault requires it or the containers exit. Otherwise, the pod stays ready."""
    if at.has(*_STARTED_FAULTS):
        return _crash(run, at)
    if at.has(PodFault.NEVER_READY, PodFault.FLAKY):
        run.stage = Stage.RUNNING
        wait = FLAKY_SECONDS if at.has(PodFault.FLAKY) else PROBE_SECONDS
        return Transition(_with_readiness(at), _unhealthy(at), seconds=wait)
    if _ends(at):
        return _complete(run, at, exit_code=0, reason="Completed", phase="Succeeded")
    return Transition(_with_readiness(at, with_fault=True))


def _unhealthy(at: Situation) -> list[Message]:
    text = "Readiness probe failed: HTTP probe failed with statuscode: 503"
    return [Message("Warning", "Unhealthy", text, c["name"]) for c in at.containers if at.with_fault(c)]


def _with_readiness(at: Situation, *, with_fault: bool = False) -> Object:
    statuses = [
        {
            **pod_status.container_status(at.pod, container["name"]),
            "ready": with_fault or not at.with_fault(container),
        }
        for container in at.containers
    ]
    return _with(at, statuses)


def _crash(run: PodRun, at: Situation) -> Transition:
    exit_code, reason = (137, "OOMKilled") if at.has(PodFault.OOM) else (1, "Error")
    if not at.restarts:
        return _complete(run, at, exit_code=exit_code, reason=reason, phase="Failed")
    run.stage = Stage.CRASHED
    run.crashes += 1
    statuses = [
        pod_status.terminated(at.pod, container, exit_code=exit_code, reason=reason, now=at.now)
        if at.with_fault(container)
        else {**pod_status.container_status(at.pod, container["name"]), "ready": True}
        for container in at.containers
    ]
    return Transition(_with(at, statuses), seconds=_FIRST_RESTART_SECONDS)


def _complete(run: PodRun, at: Situation, *, exit_code: int, reason: str, phase: str) -> Transition:
    run.stage = Stage.DONE
    statuses = [
        pod_status.terminated(at.pod, container, exit_code=exit_code, reason=reason, now=at.now)
        for container in at.containers
    ]
    return Transition(_with(at, statuses, phase=phase))


def _after_crash(run: PodRun, at: Situation) -> Transition:
    """Restart at once after the first crash or the end of the fault; otherwise, after an increasing delay."""
    if run.crashes <= 1 or not at.has(*_STARTED_FAULTS):
        return _start(run, at)
    run.stage = Stage.BACK_OFF
    pause = back_off(run.crashes - 1)
    messages: list[Message] = []
    statuses: list[dict[str, Any]] = []
    for container in at.containers:
        status = pod_status.container_status(at.pod, container["name"])
        if "terminated" in status["state"]:
            text = (
                f"back-off {pause:g}s restarting failed container={container['name']} pod={_identity(at.pod)}"
            )
            status = pod_status.waiting(at.pod, container, reason="CrashLoopBackOff", message=text)
            text = f"Back-off restarting failed container {container['name']} in pod {_identity(at.pod)}"
            messages.append(Message("Warning", "BackOff", text, container["name"]))
        statuses.append(status)
    return Transition(_with(at, statuses), messages, seconds=pause)


def _identity(pod: Object) -> str:
    metadata = pod["metadata"]
    return f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"


def _rest(run: PodRun, at: Situation) -> Transition:
    del run, at
    return Transition()


def stop(run: PodRun, at: Situation) -> Transition:
    """Signal the containers to stop, because the pod is being deleted."""
    was_done = run.stage is Stage.DONE
    run.stage = Stage.TERMINATING
    running = (c for c in at.containers if _runs(at.pod, c)) if not was_done else ()
    messages = [Message("Normal", "Killing", f"Stopping container {c['name']}", c["name"]) for c in running]
    grace = at.pod["metadata"].get("deletionGracePeriodSeconds", 0)
    return Transition(messages=messages, seconds=min(float(grace), STOP_SECONDS))


def _runs(pod: Object, container: dict[str, Any]) -> bool:
    return "running" in pod_status.container_status(pod, container["name"])["state"]


def _end(run: PodRun, at: Situation) -> Transition:
    """Report that the containers have stopped, and remove the pod."""
    del run
    if is_pod_finished(at.pod) or not any(_runs(at.pod, container) for container in at.containers):
        return Transition(delete=True)
    statuses = [_stopped(at, container) for container in at.containers]
    failed = any(status["state"].get("terminated", {}).get("exitCode") for status in statuses)
    return Transition(_with(at, statuses, phase="Failed" if failed else "Succeeded"), delete=True)


def _stopped(at: Situation, container: dict[str, Any]) -> dict[str, Any]:
    if _runs(at.pod, container):
        return pod_status.terminated(at.pod, container, exit_code=0, reason="Completed", now=at.now)
    return pod_status.container_status(at.pod, container["name"])


def _with(at: Situation, containers: Sequence[dict[str, Any]], **fields: Any) -> Object:
    return pod_status.with_containers(at.pod, containers, at.now, **fields)


_NEXT: dict[Stage, Callable[[PodRun, Situation], Transition]] = {
    Stage.BOUND: _pull,
    Stage.PULLING: _pulled,
    Stage.PULL_FAILED: _back_off_pull,
    Stage.PULL_BACK_OFF: _pull,
    Stage.CREATED: _start,
    Stage.RUNNING: _probe,
    Stage.READY: _after_ready,
    Stage.CRASHED: _after_crash,
    Stage.BACK_OFF: _start,
    Stage.DONE: _rest,
    Stage.TERMINATING: _end,
}
