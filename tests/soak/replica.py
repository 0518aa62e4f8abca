"""A replica of the program, which runs one process after the other, and the faults that strike them."""

from __future__ import annotations

import re
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from handloop.client.transport import Transport
from soak.fault_proxy import FaultProxy
from soak.plan import Fault
from soak.record import Life, Record, Sample, Struck
from support.rigs.program import ON_FREE_PORTS, Program

LEASE: Final = "soak"
_PAUSE_SECONDS: Final = 1.0
_FAILED: Final = re.compile(r'^rest_client_requests_total\{code="<error>".*\} (\S+)', re.MULTILINE)
_CACHED: Final = re.compile(r'^informer_cached_objects\{name="([a-z]+)[^}]*\} (\S+)', re.MULTILINE)


class Replica:
    """
    Starts a process, and starts another one whenever the process ends, as a kubelet does.

    State: program, the current process; life, its record; _is_dark, whether the process cannot reach the
    server.
    Threads: a thread of the replica waits for the process's end; strike() runs on the plan's thread.
    """

    def __init__(
        self, number: int, folder: Path, transport: Transport, record: Record, *arguments: str
    ) -> None:
        """Args: arguments: the program's arguments, without those for the kubeconfig and the ports."""
        self.proxy = FaultProxy(number, transport, record.seed + number)
        self._record = record
        self._number = number
        self._starts = 0
        self._folder = folder / f"replica-{number}"
        self._folder.mkdir()
        kubeconfig = self.proxy.kubeconfig(folder / f"replica-{number}.kubeconfig")
        self._arguments = [
            f"--kubeconfig={kubeconfig}",
            f"--leader-elect-resource-name={LEASE}",
            *arguments,
            "--preflight=off",
            "--log-format=klog",
            *ON_FREE_PORTS,
        ]
        self._over = threading.Event()
        self._is_dark = False
        self._start()
        self._watcher = threading.Thread(target=self._watch_over, name=f"replica-{number}")
        self._watcher.start()

    def strike(self, fault: Fault) -> None:
        """Strike the current process with a fault. Blocks: until the fault has begun."""
        program, life = self.program, self.life
        self._record.faults.append(Struck(time.time(), fault, life.agent))
        if fault.what == "kill":
            program.process.kill()
        elif fault.what == "term":
            life.asked_to_stop = time.time()
            program.signal(signal.SIGTERM)
        elif fault.what == "stop":
            program.signal(signal.SIGSTOP)
            again = threading.Timer(fault.seconds, program.signal, (signal.SIGCONT,))
            again.start()
        elif fault.what == "outage" and not self._is_dark:
            self._is_dark = True
            threading.Thread(target=self._go_dark, args=(fault.seconds,), name="outage").start()
        else:
            self.proxy.strike(fault)

    def sample(self) -> Sample | None:
        """Return the process's current resources, or None if the process is ending."""
        pid = self.program.process.pid
        with suppress(OSError, TypeError):
            status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
            memory, threads = (
                int(re.search(rf"{name}:\s+(\d+)", status)[1])  # type: ignore[index] # else None: TypeError
                for name in ("VmRSS", "Threads")
            )
            handles = len(list(Path(f"/proc/{pid}/fd").iterdir()))
            return Sample(time.time(), self.life.agent, memory / 1024, threads, handles)
        return None

    def cached(self) -> dict[str, int]:
        """Return how many objects the process's caches contain, by plural."""
        page = self.program.page("metrics", "/metrics")[1]
        return {plural: int(float(count)) for plural, count in _CACHED.findall(page)}

    def close(self) -> None:
        """Ask the last process to stop, and wait for it."""
        self._over.set()
        self.life.asked_to_stop = time.time()
        self.program.signal(signal.SIGTERM)
        self._watcher.join()
        self.proxy.close()

    def _go_dark(self, seconds: float) -> None:
        """Make the server unreachable for a while. If the process survives, record its failed requests."""
        agent, failed = self.life.agent, self._failed_requests()
        self.proxy.go_dark()
        time.sleep(seconds)
        if agent == self.life.agent:
            self._record.outages.append((seconds, self._failed_requests() - failed))
        self.proxy.serve_again()
        self._is_dark = False

    def _failed_requests(self) -> int:
        with suppress(OSError, AssertionError):  # the process may be ending or stopped
            page = self.program.page("metrics", "/metrics")[1]
            return sum(int(float(count)) for count in _FAILED.findall(page))
        return 0

    def _start(self) -> None:
        self._starts += 1
        agent = f"soak/{self._number}.{self._starts}"
        self.proxy.agent = agent
        self.life = Life(agent, time.time())
        self._record.lives.append(self.life)
        self.program = Program(self._arguments, folder=self._folder, environment={})

    def _watch_over(self) -> None:
        while True:
            code = self.program.wait(seconds=10**6)
            self.life.ended, self.life.code = time.time(), code
            log = self.program.log
            self.life.tracebacks = [line for line in log if "Traceback" in line]
            self.program.close()
            (self._folder / f"{self.life.agent.rpartition('/')[2]}.log").write_text(
                "\n".join(log), encoding="utf-8"
            )
            if self._over.wait(_PAUSE_SECONDS):
                return
            self._start()
