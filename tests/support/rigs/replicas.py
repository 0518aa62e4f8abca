"""Several replicas of the program on one cluster, each through a proxy that notes what the server took."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from handloop.testing.eventually import eventually as until
from support.rigs.program import Program, Run
from support.servers.cluster import Cluster, foo
from support.servers.recording_proxy import RecordingProxy, Write, recording, writes_without_the_lease

LEASE: Final = "handloop"
MARGIN_SECONDS: Final = 15.0
"""What a busy machine may add; the promise itself is measured with an idle one."""


class Replica(NamedTuple):
    """A process, and all its requests to the server."""

    program: Program
    proxy: RecordingProxy

    @property
    def renewals(self) -> list[Write]:
        """When it wrote itself into the lease."""
        return [write for write in self.proxy.writes if write.holder]

    @property
    def work(self) -> list[Write]:
        """What it wrote besides the lease."""
        return [write for write in self.proxy.writes if write.holder is None]

    def wait_work(self, *, at_least: int = 1) -> None:
        """Wait until it has held the lease, and written so much else."""
        until(lambda: self.renewals and len(self.work) >= at_least, "at work", seconds=MARGIN_SECONDS)


class Replicas:
    """
    The replicas of one test, and a writer that keeps changing Foos.

    Args: flags are for each replica.
    """

    def __init__(
        self, cluster: Cluster, run: Run, folder: Path, stack: ExitStack, *, flags: tuple[str, ...] = ()
    ) -> None:
        self.cluster = cluster
        self._run = run
        self._folder = folder
        self._stack = stack
        self._flags = flags
        self.all: list[Replica] = []

    def start(self, who: str, *flags: str) -> Replica:
        """A replica, once it has begun to take part."""
        proxy = self._stack.enter_context(recording(who, self.cluster.transport))
        program = self._stack.enter_context(
            self._run(
                "--controllers=foo",
                "--leader-elect",
                f"--leader-elect-resource-name={LEASE}",
                f"--leader-elect-resource-namespace={self.cluster.namespace}",
                "--log-format=klog",
                *self._flags,
                *flags,
                kubeconfig=proxy.kubeconfig(self._folder / f"{who}.kubeconfig"),
            )
        )
        replica = Replica(program, proxy)
        self.all.append(replica)
        program.wait_line("Attempting to acquire leader lease")
        return replica

    def pair(self, *flags: str) -> tuple[Replica, Replica]:
        """A leader at work, and a standby."""
        leader = self.start("first", *flags)
        leader.program.wait_ready()
        standby = self.start("second", *flags)
        standby.program.wait_line("standby: lease")
        return leader, standby

    def lease(self) -> dict[str, Any]:
        """The content of the lease."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/{self.cluster.namespace}/leases"
        spec: dict[str, Any] = self.cluster.get(path, LEASE)["spec"]
        return spec

    def check_history(self) -> None:
        """Each replica has worked, and the server took no write from one that did not hold the lease."""
        assert all(replica.work for replica in self.all)
        assert writes_without_the_lease(replica.proxy for replica in self.all) == []

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
