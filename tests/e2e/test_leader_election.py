"""
Two replicas as processes of their own, of which one works.

Each talks through a proxy that notes what the server took, with the server's own version: so the order of all
writes is known, and with it who held the lease at each.
"""

from __future__ import annotations

import itertools
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest

from support.cluster import Cluster, foo
from support.deadline import until
from support.program import Program, Run
from support.recording_proxy import RecordingProxy, recording, writes_without_the_lease

SHORT: Final = ("3s", "2s", "500ms")
LONG: Final = ("60s", "40s", "500ms")
MARGIN_SECONDS: Final = 15.0
"""What a busy machine may add; the promise itself is measured with an idle one."""


class Replicas:
    """Two programs on one cluster, and somebody who keeps changing Foos."""

    def __init__(self, cluster: Cluster, run: Run, folder: Path, stack: ExitStack) -> None:
        self.cluster = cluster
        self._run = run
        self._folder = folder
        self._stack = stack
        self.proxies: list[RecordingProxy] = []

    def start(self, who: str, durations: tuple[str, str, str]) -> tuple[Program, RecordingProxy]:
        """A replica with its proxy, once it has begun to take part."""
        proxy = self._stack.enter_context(recording(who, self.cluster.transport))
        self.proxies.append(proxy)
        lease, deadline, retry = durations
        program = self._stack.enter_context(
            self._run(
                "--controllers=foo",
                "--leader-elect",
                f"--leader-elect-lease-duration={lease}",
                f"--leader-elect-renew-deadline={deadline}",
                f"--leader-elect-retry-period={retry}",
                f"--leader-elect-resource-namespace={self.cluster.namespace}",
                "--preflight=off",
                "--log-format=klog",
                kubeconfig=proxy.kubeconfig(self._folder / f"{who}.kubeconfig"),
            )
        )
        program.wait_line("Attempting to acquire leader lease")
        return program, proxy

    def pair(self, durations: tuple[str, str, str]) -> tuple[tuple[Program, RecordingProxy], Program]:
        """A leader at work with its proxy, and a standby."""
        leader = self.start("first", durations)
        leader[0].wait_ready()
        standby, _ = self.start("second", durations)
        standby.wait_line("standby: lease")
        return leader, standby

    def lease(self) -> dict[str, object]:
        """What the lease says."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/{self.cluster.namespace}/leases"
        spec: dict[str, object] = self.cluster.get(path, "handloop")["spec"]
        return spec

    @contextmanager
    def changing_foos(self) -> Iterator[None]:
        """Somebody creates Foos and scales them, all the time; nothing is lost at the end."""
        over = threading.Event()
        names: list[str] = []

        def change() -> None:
            for number in itertools.count():
                if over.wait(0.05):
                    return
                name = f"foo-{number % 10}"
                spec = {"deploymentName": name, "replicas": 1 + number // 10 % 3}
                if number < 10:
                    self.cluster.create(self.cluster.foos, foo(name, spec))
                    names.append(name)
                else:
                    self.cluster.change(self.cluster.foos, name, {"spec": spec})

        thread = threading.Thread(target=change, name="changing-foos")
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
        until(lambda: all(map(self._is_settled, names)), "settled", seconds=self.cluster.seconds)

    def _is_settled(self, name: str) -> bool:
        wanted = self.cluster.get(self.cluster.foos, name)["spec"]["replicas"]
        found = self.cluster.list(self.cluster.deployments).get(name)
        return found is not None and found["spec"]["replicas"] == wanted


@pytest.fixture
def replicas(cluster: Cluster, run: Run, tmp_path: Path) -> Iterator[Replicas]:
    """No replica yet; at the end the server's history must show no write without the lease."""
    with ExitStack() as stack:
        made = Replicas(cluster, run, tmp_path, stack)
        yield made
        stack.pop_all().close()
        writes = [write for proxy in made.proxies for write in proxy.writes]
        assert {write.who for write in writes if write.holder is None} == {"first", "second"}
        assert writes_without_the_lease(made.proxies) == []


def test_a_killed_leader_is_followed(replicas: Replicas) -> None:
    """G10, I8, I10: kill -9, and the other works within lease duration and retry period."""
    (leader, _), standby = replicas.pair(SHORT)
    with replicas.changing_foos():
        until(lambda: len(replicas.proxies[0].writes) > 10, "at work", seconds=MARGIN_SECONDS)
        killed_at = time.monotonic()
        leader.kill()
        standby.wait_line("Successfully acquired lease", seconds=3.5 + MARGIN_SECONDS)
        assert time.monotonic() - killed_at > 0.5  # not before the lease had run out
        standby.wait_ready()
        until(lambda: _worked(replicas.proxies[1]), "at work", seconds=MARGIN_SECONDS)
    assert replicas.lease()["leaseTransitions"] == 1
    assert standby.stop() == 0


def test_a_leader_that_is_asked_to_stop_hands_over(replicas: Replicas) -> None:
    """P01, P02, G12: the lease is released after the workers: nobody waits until it expires, in a minute."""
    (leader, _), standby = replicas.pair(LONG)
    with replicas.changing_foos():
        until(lambda: len(replicas.proxies[0].writes) > 10, "at work", seconds=MARGIN_SECONDS)
        assert leader.stop() == 0
        standby.wait_line("Successfully acquired lease", seconds=2.0 + MARGIN_SECONDS)
        until(lambda: _worked(replicas.proxies[1]), "at work", seconds=MARGIN_SECONDS)
    last = replicas.proxies[0].writes[-1]
    assert last.holder == ""
    assert standby.stop() == 0
    assert replicas.lease()["holderIdentity"] == ""


def test_a_leader_that_cannot_renew_ends_before_another_begins(replicas: Replicas) -> None:
    """P07, P09, E12: exit code 1, in words, and no write that others could meet."""
    (leader, proxy), standby = replicas.pair(SHORT)
    with replicas.changing_foos():
        until(lambda: len(proxy.writes) > 10, "at work", seconds=MARGIN_SECONDS)
        proxy.flowing.clear()
        assert leader.wait(seconds=2.0 + 1.0 + MARGIN_SECONDS) == 1
        standby.wait_line("Successfully acquired lease", seconds=3.5 + MARGIN_SECONDS)
        until(lambda: _worked(replicas.proxies[1]), "at work", seconds=MARGIN_SECONDS)
    leader.wait_line(
        r"error: lost leadership: lease \S+ not renewed for 2 s \(last error: .*no complete answer"
    )
    assert leader.lines_with("docs/errors.md#e12")
    renewed_at = max(write.began_at for write in proxy.writes if write.holder)
    late = [w for w in proxy.writes if w.holder is None and w.began_at > renewed_at + 3.0]
    assert late == []
    assert standby.stop() == 0


def test_a_leader_that_was_suspended_does_not_go_on(replicas: Replicas) -> None:
    """P08, P13: SIGSTOP until another leads, then SIGCONT: no write passes, and it ends with 1."""
    (leader, proxy), standby = replicas.pair(SHORT)
    with replicas.changing_foos():
        until(lambda: len(proxy.writes) > 10, "at work", seconds=MARGIN_SECONDS)
        leader.signal(signal.SIGSTOP)
        standby.wait_line("Successfully acquired lease", seconds=3.5 + MARGIN_SECONDS)
        until(lambda: _worked(replicas.proxies[1]), "at work", seconds=MARGIN_SECONDS)
        before = len(proxy.writes)
        leader.signal(signal.SIGCONT)
        assert leader.wait(seconds=MARGIN_SECONDS) == 1
        assert proxy.writes[before:] == []
    assert leader.lines_with("lost leadership")
    assert standby.stop() == 0


def test_a_standby_is_ready_and_says_whom_it_waits_for(replicas: Replicas) -> None:
    """E11: warm caches, /readyz 200 with leader or standby, the gauge, and a line that names the holder."""
    (leader, _), standby = replicas.pair(LONG)
    with replicas.changing_foos():
        until(lambda: len(replicas.proxies[0].writes) > 10, "at work", seconds=MARGIN_SECONDS)
    holder = str(replicas.lease()["holderIdentity"])
    for program, words, gauge in ((leader, "leader", 1), (standby, f"standby, holder={holder}", 0)):
        until(lambda p=program: p.page("health", "/readyz") == (200, "ok"), "ready", seconds=MARGIN_SECONDS)  # type: ignore[misc]
        assert f"[+]leader: {words}" in program.page("health", "/readyz?verbose")[1].splitlines()
        assert "[+]leader-election ok" in program.page("health", "/healthz?verbose")[1].splitlines()
        assert (
            f'leader_election_master_status{{name="handloop"}} {gauge}.0'
            in program.page("metrics", "/metrics")[1]
        )
    assert standby.lines_with(
        rf"info: standby: lease \S+/handloop held by {re.escape(holder)} \(renewed \d+ s"
    )
    cached = re.search(
        r'informer_cached_objects\{name="foos[^"]*"\} (\S+)', standby.page("metrics", "/metrics")[1]
    )
    assert cached is not None
    assert float(cached[1]) == len(replicas.cluster.list(replicas.cluster.foos))
    assert not standby.lines_with("Started workers")
    leader.stop()
    until(lambda: _worked(replicas.proxies[1], at_least=0), "led", seconds=MARGIN_SECONDS)
    replicas.cluster.change(replicas.cluster.foos, "foo-0", {"spec": {"replicas": 5}})
    until(lambda: _worked(replicas.proxies[1]), "at work", seconds=MARGIN_SECONDS)
    assert standby.stop() == 0


def _worked(proxy: RecordingProxy, *, at_least: int = 1) -> bool:
    """Whether a replica has held the lease, and written something else."""
    writes = proxy.writes
    return any(write.holder for write in writes) and sum(w.holder is None for w in writes) >= at_least
