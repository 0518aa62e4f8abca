"""The simulated kubelets. They decide when a pod enters its next stage, and apply the resulting writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from handloop_sandbox.cluster.cluster_controller import Pace, Step, View, Write
from handloop_sandbox.cluster.dirty_keys import DirtyKeys
from handloop_sandbox.cluster.events import ComponentEventRecorder
from handloop_sandbox.cluster.nodes import NODES, address_of
from handloop_sandbox.cluster.pod_faults import concerned, fault_of_pod
from handloop_sandbox.cluster.pod_run import PodRun, Situation, Stage, Transition, stage_of
from handloop_sandbox.cluster.pod_stages import BOUND_SECONDS, advance, stop
from handloop_sandbox.cluster.pod_status import with_containers
from handloop_sandbox.cluster.workloads import PODS, is_deleting
from handloop_sandbox.storage.stored import Change, ChangeType, Object
from handloop_sandbox.wire.resource import GroupResource
from handloop_sandbox.wire.status import Status

_PER_BLOCK = 250
_BLOCKS = 256


class PodAddresses:
    """
    Allocates addresses in 10.244.0.0/16. No two pods have the same address at the same time.

    Invariant: _used holds the addresses in use. An address is reused only after all others have been used.
    """

    def __init__(self) -> None:
        self._next = count(1)
        self._used: set[str] = set()

    def take(self, wanted: str = "") -> str:
        """Allocate the wanted address, or the next free one if wanted is ""."""
        address = wanted or self._fresh()
        while address in self._used and not wanted:
            address = self._fresh()
        self._used.add(address)
        return address

    def give_back(self, address: str) -> None:
        """Release an address whose pod is gone."""
        self._used.discard(address)

    def _fresh(self) -> str:
        number = next(self._next)
        return f"10.244.{number // _PER_BLOCK % _BLOCKS}.{number % _PER_BLOCK + 2}"


class PodSimulation:
    """
    Runs every pod that is bound to a node.

    State: _runs holds what the kubelets remember about each bound pod. _dirty holds the time at which the
    pod's stage ends. The keys of both are uids.
    """

    name = "kubelet"
    interests: frozenset[GroupResource] | None = None  # any owner may have a fault annotation

    def __init__(self, pace: Pace, *, hold_jobs: bool = False) -> None:
        self._pace = pace
        self._hold_jobs = hold_jobs
        self._dirty: DirtyKeys[str] = DirtyKeys()
        self._runs: dict[str, PodRun] = {}
        self._addresses = PodAddresses()
        self._recorder = ComponentEventRecorder("kubelet")

    def step(self, view: View, changes: Sequence[Change], now: float) -> Step:
        """Move each pod whose stage has ended to its next stage."""
        writes: list[Write] = []
        for change in changes:
            if change.group_resource == PODS:
                writes += self._observe(view, change, now)
            else:
                self._reconsider(view, change, now)
        for uid in self._dirty.take(now):
            writes += self._advance(view, uid, now)
        return Step(writes, self._dirty.next_wake())

    def refused(self, write: Write, status: Status, now: float) -> None:
        """Do nothing, because the pod's next change will trigger another attempt."""

    def _observe(self, view: View, change: Change, now: float) -> list[Write]:
        pod = change.new.object
        uid = pod["metadata"]["uid"]
        if change.type is ChangeType.DELETED:
            self._forget(uid)
            return []
        run = self._runs.get(uid)
        if run is None:
            run = self._adopt(view, pod, now)
        if run is None:
            return []
        if is_deleting(pod):
            return self._stop(view, run, pod, now)
        if change.old and change.old.object["metadata"].get("annotations") != pod["metadata"].get(
            "annotations"
        ):
            self._look_again(uid, run, now)
        return _open_gates(pod, now)

    def _adopt(self, view: View, pod: Object, now: float) -> PodRun | None:
        """Start to simulate a pod that is bound to an existing node."""
        metadata = pod["metadata"]
        if self._node(view, pod) is None:
            return None
        run = PodRun(metadata["namespace"], metadata["name"], stage_of(pod), entered_at=now)
        status = pod.get("status") or {}
        run.crashes = max(
            (entry["restartCount"] for entry in status.get("containerStatuses") or ()), default=0
        )
        run.ip = self._addresses.take(status.get("podIP", ""))
        self._runs[metadata["uid"]] = run
        self._dirty.mark(metadata["uid"], now + self._pace.jittered(BOUND_SECONDS, view.random))
        return run

    def _forget(self, uid: str) -> None:
        run = self._runs.pop(uid, None)
        self._dirty.drop(uid)
        if run is not None:
            self._addresses.give_back(run.ip)

    def _stop(self, view: View, run: PodRun, pod: Object, now: float) -> list[Write]:
        if run.stage is Stage.TERMINATING:
            return []
        return self._carry_out(view, run, pod, stop(run, self._situation(view, pod, now)), now)

    def _reconsider(self, view: View, change: Change, now: float) -> None:
        """Schedule a step soon for each pod that is affected by a changed owner or a new node."""
        if change.group_resource == NODES and change.type is ChangeType.ADDED:
            for pod in view.state.list(PODS):
                if pod["metadata"]["uid"] not in self._runs:
                    self._adopt(view, pod, now)
        for pod in concerned(view.state, change):
            run = self._runs.get(pod["metadata"]["uid"])
            if run is not None:
                self._look_again(pod["metadata"]["uid"], run, now)

    def _look_again(self, uid: str, run: PodRun, now: float) -> None:
        if run.stage in (Stage.RUNNING, Stage.READY, Stage.BACK_OFF, Stage.PULL_BACK_OFF):
            self._dirty.mark(uid, now + self._pace.seconds(BOUND_SECONDS))

    def _advance(self, view: View, uid: str, now: float) -> list[Write]:
        run = self._runs.get(uid)
        pod = view.state.get(PODS, run.namespace, run.name) if run else None
        if run is None or pod is None or pod["metadata"]["uid"] != uid:
            return []
        if is_deleting(pod) and run.stage is not Stage.TERMINATING:
            return self._stop(view, run, pod, now)
        return self._carry_out(view, run, pod, advance(run, self._situation(view, pod, now)), now)

    def _situation(self, view: View, pod: Object, now: float) -> Situation:
        node = self._node(view, pod)
        fault = fault_of_pod(view.state, pod, hold_jobs=self._hold_jobs)
        return Situation(pod, fault, address_of(node) if node else "", now)

    @staticmethod
    def _node(view: View, pod: Object) -> Object | None:
        name = pod["spec"].get("nodeName")
        return view.state.get(NODES, "", name) if name else None

    def _carry_out(
        self, view: View, run: PodRun, pod: Object, transition: Transition, now: float
    ) -> list[Write]:
        run.entered_at = now
        if transition.seconds is not None:
            pause = (
                self._pace.jittered(transition.seconds, view.random)
                if transition.jittered
                else self._pace.seconds(transition.seconds)
            )
            self._dirty.move(pod["metadata"]["uid"], now + pause)
        writes = list(self._events(view, pod, transition, now))
        if transition.pod is not None and transition.pod.get("status") != pod.get("status"):
            writes.append(Write.of("update", PODS, transition.pod, subresource="status"))
        if transition.delete:
            writes.append(Write.of("delete", PODS, pod, grace_seconds=0))
        return writes

    def _events(self, view: View, pod: Object, transition: Transition, now: float) -> Iterator[Write]:
        for message in transition.messages:
            yield self._recorder.event(
                view,
                pod,
                kind=message.type,
                reason=message.reason,
                message=message.text,
                now=now,
                field_path=f"spec.containers{{{message.container}}}" if message.container else "",
                host=pod["spec"].get("nodeName", ""),
            )


def _open_gates(pod: Object, now: float) -> list[Write]:
    """Update the Ready condition after another controller has set the condition of a readiness gate."""
    status = pod.get("status") or {}
    if not pod["spec"].get("readinessGates") or not status.get("containerStatuses"):
        return []
    updated = with_containers(pod, status["containerStatuses"], now)
    return [Write.of("update", PODS, updated, subresource="status")] if updated["status"] != status else []
