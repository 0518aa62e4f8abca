"""
Runs the Foo controller in a separate process, which can be killed. The process prints its tape's entries.

    python -m tools.recorded_runs.child URL TOKEN [IDENTITY]

With an identity, the controller works only while it holds the lease default/foo.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import Any, Final, Self

from prometheus_client import CollectorRegistry

from handloop.apis.coordination_v1 import Lease
from handloop.client.auth.credentials import StaticCredentials
from handloop.client.config import ClientConfig
from handloop.client.resource_client import Client
from handloop.client.transport import HTTPTransport
from handloop.controller.foo.runnable import add_plain_foo
from handloop.controller.runtime.election.config import LeaderElectionConfig
from handloop.controller.runtime.election.lease_lock import LeaseLock
from handloop.controller.runtime.manager import Manager
from handloop.picture.parts import Parts
from handloop.picture.recording import Entry
from handloop.seams.clock import REAL_CLOCK
from handloop.seams.quiet_logs import quiet_logs
from tools.recorded_runs.tape import Tape
from tools.steps import ROOT

LEASE_SECONDS: Final = 5.0
RENEW_SECONDS: Final = 2.0
RETRY_SECONDS: Final = 0.5


class Child:
    """
    A process that runs the controller. Leaving this context manager kills the process, as `kill -9` does.

    Fields: entries, the entries that the process has printed so far; ended_at, when the process ended, on the
    same clock as the times of its steps.
    Threads: runs on the script's thread; another thread reads the entries.
    """

    def __init__(self, url: str, token: str, identity: str = "") -> None:
        self.entries: list[Entry] = []
        self.ended_at = 0.0
        words = [url, token, identity] if identity else [url, token]
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter, with words of our own
            [sys.executable, "-m", "tools.recorded_runs.child", *words],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._reader = threading.Thread(target=self._read, name="reader")

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._reader.join()
        self._process.wait()

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended."""
        return not self._reader.is_alive()

    def told(self, number: int, component: str = "", **facts: Any) -> list[Entry]:
        """Return the steps so far with this number, component and facts."""
        return [
            step
            for step in list(self.entries)
            if step.get("step") == number
            and component in step["component"]
            and facts.items() <= step["facts"].items()
        ]

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self.entries.append(json.loads(line))
        self.ended_at = REAL_CLOCK.now()


def main(url: str, token: str, identity: str = "") -> None:
    """Run the controller until the process is killed. Raises: LeadershipLost if it loses the lease."""
    config = ClientConfig(host=url, credentials=StaticCredentials(f"Bearer {token}"))
    tape = Tape(lambda entry: print(json.dumps(entry), flush=True))  # noqa: T201 - the output
    with quiet_logs(), tape.recording():
        client = Client(HTTPTransport(config))
        manager = Manager(client, registry=CollectorRegistry())
        tape.parts = Parts(manager, {"foo": add_plain_foo(manager, workers=1)})
        if identity:
            lock = LeaseLock(client.resource(Lease), namespace="default", name="foo", identity=identity)
            manager.elect(LeaderElectionConfig(lock, LEASE_SECONDS, RENEW_SECONDS, RETRY_SECONDS))
        manager.run(threading.Event())


if __name__ == "__main__":
    main(*sys.argv[1:])
