"""Runs the Foo controller on a sandbox in this process, and records it on a tape."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Final, Self

from prometheus_client import CollectorRegistry

from handloop.apis.apps_v1 import Deployment
from handloop.controller.foo.runnable import add_foo, add_plain_foo
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.manager import Manager
from handloop.picture.parts import Parts
from handloop.picture.recording import Entry, gap
from handloop.seams.clock import REAL_CLOCK
from handloop_learn.live.instance_faults import InstanceFaults
from handloop_learn.stage import DEPLOYMENTS, FOOS, Stage, running
from handloop_learn.waiting import until
from tools.recorded_runs.catalog import FOO
from tools.recorded_runs.tape import Tape

_LATE_SECONDS: Final = 0.01
_PATHS: Final[dict[object, str]] = {Foo: FOOS, Deployment: DEPLOYMENTS}


def late_events(stage: Stage) -> None:
    """Delay watch events by 10 ms, as a network would, so that a write's answer arrives before its event."""
    stage.sandbox.faults.delay_watches(_LATE_SECONDS, resources=["foos", "deployments"])


class Program:
    """
    The plain or the hardened Foo controller, with one worker, on its own Stage.

    Entering this context manager starts the controller, and waits until it is idle.

    Fields: entries, the tape's entries; parts, the controller's parts; faults, which a script can inject.
    Threads: runs on the script's thread.
    """

    def __init__(self, *, lifelike: bool = False, hardened: bool = False) -> None:
        """Args: lifelike: the same as for Stage; hardened: whether to run the hardened controller."""
        self._add = add_foo if hardened else add_plain_foo
        self.entries: list[Entry] = []
        self.stage = Stage(lifelike=lifelike)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._stack.enter_context(self.stage)
        late_events(self.stage)
        tape = Tape(self.entries.append)
        self._stack.enter_context(tape.recording())
        manager = Manager(self.stage.client, registry=CollectorRegistry())
        self.parts = tape.parts = Parts(manager, {"foo": self._add(manager, workers=1)})
        self.faults = InstanceFaults(self.parts)
        self._stack.enter_context(running(manager))
        self.rest()
        until(lambda: self.last_state()["workers"], "the worker")
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def told(self, number: int, key: str, **facts: Any) -> list[Entry]:
        """Return the steps so far with this number, key and facts."""
        return [
            step
            for step in list(self.entries)
            if (step.get("step"), step.get("key")) == (number, key) and facts.items() <= step["facts"].items()
        ]

    def begin(self) -> None:
        """Wait until the controller is idle, and start the recording anew, with the last state."""
        self.rest()
        self.entries[:] = [{"state": self.last_state()}]

    def outside(self, why: str, *, stale: Sequence[str] = ()) -> None:
        """Add a sentence between the steps. Args: stale: the same as for gap."""
        self.entries.append(gap(REAL_CLOCK.now(), why, goes_on=True, stale=stale))

    def last_state(self) -> dict[str, Any]:
        """Return the newest state on the tape."""
        state: dict[str, Any] = next(entry["state"] for entry in reversed(self.entries) if "state" in entry)
        return state

    def rest(self, *, but_retries: bool = False) -> None:
        """
        Wait until the caches match the server and the controller is idle.

        Args: but_retries: whether to ignore keys that wait for a retry. Blocks: until then.
        """
        keys = 3 if but_retries else 4
        until(
            lambda: self._is_idle(keys) and self._is_mirrored() and self._is_idle(keys),
            "nothing to do",
        )

    def status(self) -> dict[str, Any]:
        """Return the Foo's status on the server."""
        status: dict[str, Any] = self.stage.send("GET", f"{FOOS}/example-foo").get("status", {})
        return status

    def scale(self, replicas: int) -> None:
        """Change the Foo's replicas, and wait until its handler has been called. Blocks: until then."""
        before = len(self.told(7, FOO))
        self.stage.send("PATCH", f"{FOOS}/example-foo", {"spec": {"replicas": replicas}})
        until(lambda: len(self.told(7, FOO)) > before, "the handler")

    def _is_idle(self, keys: int) -> bool:
        """Return whether nothing is queued. Args: keys: how many of QueueStatistics' counts to check."""
        statistics = [informer.statistics() for informer in self.parts.informers()]
        pending = sum(one.queued + sum(listener.pending for listener in one.listeners) for one in statistics)
        queues = self.parts.queues().values()
        return bool(queues) and not pending and not any(any(queue.statistics()[:keys]) for queue in queues)

    def _is_mirrored(self) -> bool:
        return all(
            informer.has_synced()
            and sorted(obj.metadata.resource_version for obj in informer.indexer.list())
            == sorted(self._versions(_PATHS[informer.kind]))
            for informer in self.parts.informers()
        )

    def _versions(self, path: str) -> Sequence[str]:
        return [obj["metadata"]["resourceVersion"] for obj in self.stage.send("GET", path)["items"]]
