"""A Foo controller on a sandbox without sockets, with its steps recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from handloop.controller.foo.runnable import add_foo
from handloop.controller.foo.types import Foo
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.picture.parts import Parts
from handloop.picture.recorder import Recorder, Step
from handloop.picture.snapshot import snapshot
from handloop.testing.eventually import eventually
from support.rigs.managed_sandbox import ManagedSandbox


class FooProgram:
    """A Foo controller, its parts, and a recorder; both are on within `running`."""

    def __init__(self) -> None:
        self.cluster = ManagedSandbox(Foo)
        manager = self.cluster.manager()
        self.manager = manager
        self.parts = Parts(manager, {"foo": add_foo(manager, workers=2)})
        self.recorder = Recorder()

    def foo(self, name: str, replicas: int = 1, **metadata: Any) -> None:
        """Make a Foo, as another client would."""
        self.cluster.foo(name, replicas, **metadata)

    def synced_foo(self) -> None:
        """Make the Foo `a`, and wait until it was synced."""
        self.foo("a")
        self.wait_idle()

    def foos(self) -> SharedIndexInformer[Foo]:
        """The informer of Foos."""
        return next(one for one in self.parts.informers() if one.kind is Foo)

    def told(self, number: int, key: str = "default/a") -> list[Step]:
        """The steps of a number and key so far."""
        return [step for step in self.recorder.steps() if (step.number, step.key) == (number, key)]

    def retries(self, key: str = "default/a") -> list[float]:
        """The seconds of each add rate limited of a key so far."""
        return [step.facts["seconds"] for step in self.told(11, key) if "error" in step.facts]

    def get(self, path: str) -> Any:
        """An object, as the server has it."""
        return json.loads(self.cluster.transport().request("GET", path).body)

    def wait_for_steps(self, number: int, key: str = "default/a") -> None:
        """Wait until there was a step of a number and key."""
        eventually(lambda: self.told(number, key), f"a step ({number}) of {key}")

    def wait_idle(self, key: str = "default/a") -> None:
        """Wait until a Foo was synced and nothing is left to do."""
        queue = self.parts.queues()["foo"]
        self.wait_for_steps(12, key)
        eventually(lambda: queue.statistics() == (0, 0, 0, 0), "nothing to do")

    def workers(self) -> tuple[list[str], list[bool], list[str]]:
        """What the workers have, whose key is not known, and the keys that nobody can get."""
        seen = snapshot(self.parts, self.recorder.steps)
        keys = [worker["key"] for worker in seen["workers"]]
        return keys, [worker.get("unknown", False) for worker in seen["workers"]], seen["queues"][0]["stuck"]

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Run it until the context ends."""
        self.recorder.join()
        try:
            with self.cluster.running(self.manager):
                eventually(self.parts.queues, "the queue")
                eventually(lambda: all(one.has_synced() for one in self.parts.informers()), "the caches")
                yield self
        finally:
            self.recorder.close()
