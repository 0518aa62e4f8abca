from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.cluster.pod_faults import FaultOfPod, PodFault
from handloop_sandbox.cluster.pod_run import PodRun, Situation, Stage, Transition
from handloop_sandbox.cluster.pod_stages import (
    BACK_OFF_SECONDS,
    FLAKY_SECONDS,
    PROBE_SECONDS,
    PULL_SECONDS,
    advance,
    back_off,
    stop,
)
from handloop_sandbox.cluster.workloads import is_pod_ready
from handloop_sandbox.storage.stored import Object

_NOW = 1_700_000_000.0


class _Life:
    """One pod, taken from stage to stage."""

    def __init__(self, fault: PodFault | None = None, *, containers: int = 1, **spec: Any) -> None:
        names = [f"c{index}" for index in range(containers)]
        images = [{"name": name, "image": f"{name}:1"} for name in names]
        metadata = {"name": "p", "namespace": "n", "uid": "u", "generation": 1}
        self.pod: Object = {"metadata": metadata, "spec": {"containers": images, **spec}, "status": {}}
        self.active_fault = FaultOfPod(fault, frozenset({names[-1]})) if fault else None
        self.run = PodRun("n", "p", ip="10.244.0.3")
        self.now = _NOW

    def step(self) -> Transition:
        return self._take(advance(self.run, self.situation))

    def until(self, stage: Stage, *, most: int = 20) -> Transition:
        for _ in range(most):
            transition = self.step()
            if self.run.stage is stage:
                return transition
        raise AssertionError(f"never {stage}")

    def stop(self) -> Transition:
        return self._take(stop(self.run, self.situation))

    @property
    def situation(self) -> Situation:
        return Situation(self.pod, self.active_fault, "192.0.2.10", self.now)

    def _take(self, transition: Transition) -> Transition:
        self.pod = transition.pod or self.pod
        self.now += transition.seconds or 0
        return transition

    def states(self) -> list[dict[str, Any]]:
        return [status["state"] for status in self.pod["status"]["containerStatuses"]]

    def phase(self) -> str:
        return str(self.pod["status"].get("phase", ""))


def _told(transition: Transition) -> list[tuple[str, str]]:
    return [(message.reason, message.text) for message in transition.messages]


def test_healthy_pod() -> None:
    """Pulling, created, running, ready; each step with its events and status, and then nothing more."""
    life = _Life()
    transition = life.step()
    assert _told(transition) == [("Pulling", 'Pulling image "c0:1"')]
    assert (transition.seconds, life.phase()) == (PULL_SECONDS, "Pending")
    assert life.states() == [{"waiting": {"reason": "ContainerCreating"}}]
    assert life.pod["status"]["hostIP"] == "192.0.2.10"
    transition = life.step()
    assert [reason for reason, _ in _told(transition)] == ["Pulled", "Created"]
    transition = life.step()
    assert _told(transition) == [("Started", "Container started")]
    assert (life.phase(), life.pod["status"]["podIP"], is_pod_ready(life.pod)) == (
        "Running",
        "10.244.0.3",
        False,
    )
    transition = life.step()
    assert (life.run.stage, is_pod_ready(life.pod), transition.seconds) == (Stage.READY, True, None)


def test_slow_pull_takes_ten_times_as_long() -> None:
    """The fault slow stretches the pull only."""
    assert _Life(PodFault.SLOW).step().seconds == PULL_SECONDS * 10


def test_failing_pull_alternates_with_growing_pauses() -> None:
    """ErrImagePull and ImagePullBackOff alternate, pauses double, and a good image ends it."""
    life = _Life(PodFault.PULL_FAIL)
    pauses = []
    for _ in range(3):
        transition = life.until(Stage.PULL_FAILED)
        assert life.states()[0]["waiting"]["reason"] == "ErrImagePull"
        assert [reason for reason, _ in _told(transition)] == ["Failed", "Failed"]
        transition = life.step()
        assert life.states()[0]["waiting"]["reason"] == "ImagePullBackOff"
        assert ("BackOff", 'Back-off pulling image "c0:1"') in _told(transition)
        pauses.append(transition.seconds)
    assert pauses == [10.0, 20.0, 40.0]
    assert life.phase() == "Pending"
    life.active_fault = None
    life.until(Stage.READY)
    assert is_pod_ready(life.pod)


@pytest.mark.parametrize(
    ("fault", "code", "reason"), [(PodFault.CRASH, 1, "Error"), (PodFault.OOM, 137, "OOMKilled")]
)
def test_crashing_pod(fault: PodFault, code: int, reason: str) -> None:
    """The first restart comes at once, later ones after 10 s, 20 s, 40 s; the restart count rises."""
    life = _Life(fault)
    life.until(Stage.CRASHED)
    assert life.states()[0]["terminated"]["exitCode"] == code
    life.step()
    assert life.run.stage is Stage.RUNNING
    pauses = []
    for _ in range(3):
        transition = life.until(Stage.BACK_OFF)
        waiting = life.states()[0]["waiting"]
        assert waiting["reason"] == "CrashLoopBackOff"
        text = f"back-off {transition.seconds:g}s restarting failed container=c0 pod=p_n(u)"
        assert waiting["message"] == text
        assert _told(transition) == [("BackOff", "Back-off restarting failed container c0 in pod p_n(u)")]
        pauses.append(transition.seconds)
        life.step()
    assert pauses == [10.0, 20.0, 40.0]
    (status,) = life.pod["status"]["containerStatuses"]
    assert (status["restartCount"], status["lastState"]["terminated"]["reason"]) == (4, reason)
    life.active_fault = None
    life.step()
    assert is_pod_ready(life.pod)
    assert life.run.crashes == 0


def test_only_the_afflicted_container_crashes() -> None:
    """The other container runs on, is ready and is not restarted."""
    life = _Life(PodFault.CRASH, containers=2)
    life.until(Stage.BACK_OFF)
    good, bad = life.pod["status"]["containerStatuses"]
    assert ("running" in good["state"], good["ready"], good["restartCount"]) == (True, True, 0)
    assert "waiting" in bad["state"]
    assert not is_pod_ready(life.pod)
    transition = life.step()
    assert {message.container for message in transition.messages} == {"c1"}


def test_never_ready_pod_fails_its_probe() -> None:
    """The pod runs, is not ready, and reports it every ten seconds."""
    life = _Life(PodFault.NEVER_READY)
    life.until(Stage.RUNNING)
    for _ in range(3):
        transition = life.step()
        assert [reason for reason, _ in _told(transition)] == ["Unhealthy"]
        assert (transition.seconds, life.run.stage, is_pod_ready(life.pod)) == (
            PROBE_SECONDS,
            Stage.RUNNING,
            False,
        )


def test_flaky_pod_flips() -> None:
    """Every five seconds the pod loses or regains readiness."""
    life = _Life(PodFault.FLAKY)
    life.until(Stage.READY)
    seen = []
    for _ in range(4):
        transition = life.step()
        seen.append((is_pod_ready(life.pod), transition.seconds))
    assert seen == [(False, FLAKY_SECONDS), (True, FLAKY_SECONDS)] * 2


@pytest.mark.parametrize(
    ("policy", "fault", "phase", "code"),
    [
        ("Never", None, "Succeeded", 0),
        ("OnFailure", None, "Succeeded", 0),
        ("Never", PodFault.CRASH, "Failed", 1),
    ],
)
def test_pods_that_run_to_their_end(policy: str, fault: PodFault | None, phase: str, code: int) -> None:
    """Without restarts a pod ends as succeeded or failed, and stays so."""
    life = _Life(fault, restartPolicy=policy)
    life.until(Stage.DONE)
    assert (life.phase(), life.states()[0]["terminated"]["exitCode"]) == (phase, code)
    assert life.step() == Transition()


def test_failing_pod_is_restarted_on_failure() -> None:
    """With OnFailure a crash is followed by a restart."""
    life = _Life(PodFault.CRASH, restartPolicy="OnFailure")
    life.until(Stage.BACK_OFF)
    assert life.phase() == "Running"


def test_fault_of_a_ready_pod() -> None:
    """A fault that appears later strikes a ready pod."""
    for fault, stage in ((PodFault.CRASH, Stage.CRASHED), (PodFault.NEVER_READY, Stage.RUNNING)):
        life = _Life(fault)
        active_fault, life.active_fault = life.active_fault, None
        life.until(Stage.READY)
        life.active_fault = active_fault
        life.step()
        assert (life.run.stage, is_pod_ready(life.pod)) == (stage, False)


def test_stopping_a_running_pod() -> None:
    """Each running container gets its signal; within a second they have stopped, and the pod goes."""
    life = _Life(containers=2)
    life.until(Stage.READY)
    life.pod["metadata"]["deletionGracePeriodSeconds"] = 30
    transition = life.stop()
    assert _told(transition) == [("Killing", "Stopping container c0"), ("Killing", "Stopping container c1")]
    assert transition.seconds == 1.0
    transition = life.step()
    assert transition.delete
    assert life.phase() == "Succeeded"
    assert [state["terminated"]["exitCode"] for state in life.states()] == [0, 0]


def test_stopping_a_pod_that_never_ran() -> None:
    """Nothing is stopped and no status is written: the pod just goes."""
    life = _Life(PodFault.PULL_FAIL)
    life.until(Stage.PULL_BACK_OFF)
    life.pod["metadata"]["deletionGracePeriodSeconds"] = 0
    assert life.stop().messages == []
    transition = life.step()
    assert (transition.delete, transition.pod) == (True, None)


def test_back_off_is_bounded() -> None:
    """Pauses double from ten seconds up to five minutes."""
    assert [back_off(n) for n in (1, 2, 3, 6, 50)] == [BACK_OFF_SECONDS, 20.0, 40.0, 300.0, 300.0]
