"""A cluster in virtual time: a sandbox without sockets, with its own controllers and an administrator."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from handloop.apis.converter import Conversions, conversions_of
from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import Kind
from handloop.client.errors import ConnectionBroken, DeadlineExceeded, StreamClosed
from handloop.client.transport import Transport
from handloop_explore.administrator import DEFINITIONS, Administrator, Object
from handloop_explore.record import OPERATOR, Record
from handloop_explore.virtual_threads import VirtualClock, VirtualThread, VirtualThreads
from handloop_sandbox.cluster.cluster_controller import ClusterController, Step, View
from handloop_sandbox.cluster.events import EVENTS
from handloop_sandbox.cluster.lifecycle import default_controllers
from handloop_sandbox.engine import ADMIN
from handloop_sandbox.requests.request import User
from handloop_sandbox.server import Sandbox
from handloop_sandbox.storage.stored import Change

_ADMIN: Final = "admin"
_OPERATORS: Final = {OPERATOR: User(OPERATOR, ADMIN.groups)}
_TICK_SECONDS: Final = 0.001
_IDLE_SECONDS: Final = 1.0


class _Quiet:
    """Wraps one of the cluster's own controllers, and usually drops the Events that it writes."""

    def __init__(self, controller: ClusterController, keeps_events: Callable[[], bool]) -> None:
        self.name = controller.name
        self.interests = controller.interests
        self.refused = controller.refused
        self._step = controller.step
        self._keeps_events = keeps_events

    def step(self, view: View, changes: Sequence[Change], now: float) -> Step:
        """Return the controller's decisions."""
        step = self._step(view, changes, now)
        if not step.writes or self._keeps_events():
            return step
        return Step([write for write in step.writes if write.group_resource != EVENTS], step.next_wake)


class VirtualCluster(Administrator):
    """
    The cluster of one run, in virtual time.

    Fields: sandbox; version, the newest resource version; record, the changes so far. Threads: runs on the
    threads that VirtualThreads runs.
    """

    def __init__(
        self,
        threads: VirtualThreads,
        kinds: Iterable[type[Kind]],
        definitions: Iterable[Object] = (),
        conversions: Conversions | None = None,
    ) -> None:
        """
        Install the CRDs.

        Args: kinds: their CRDs are installed; definitions: further CRDs to install; conversions: the
        conversions of the kinds in `definitions`.
        """
        self._threads = threads
        self._wakes: list[Callable[[], None]] = []
        self._keeps_events = False
        self.sandbox = Sandbox(
            token=_ADMIN,
            users=_OPERATORS,
            clock=VirtualClock(threads),
            seed=threads.seed,
            conversions=conversions_of(kinds := tuple(kinds)) | (conversions or {}),
            controllers=[_Quiet(each, lambda: self._keeps_events) for each in default_controllers()],
        )
        super().__init__(self.transport())
        self._changed = threads.new_event()
        self.sandbox.engine.listen(self._changed.set)
        threads.spawn("cluster", self._live)
        for definition in (*map(custom_resource_definition, kinds), *definitions):
            self.send("POST", DEFINITIONS, definition)
        threads.run_for(1.0)
        self.record = Record(threads)
        self.sandbox.engine.record(self.record.committed)

    @property
    def version(self) -> int:
        """The newest resource version, which rises with each change."""
        return self.sandbox.engine.version()

    def keep_events(self) -> None:
        """Let the cluster's controllers write Events, which account for nearly half of their writes."""
        self._keeps_events = True

    def transport(self, user: str = _ADMIN) -> Transport:
        """Return a transport to the cluster. Args: user: `operator`, or `admin` for the administrator."""
        made: Transport = self.sandbox.transport(  # type: ignore[assignment] # the same shapes
            token=user,
            closed=StreamClosed,
            silent=DeadlineExceeded,
            broken=ConnectionBroken,
            longest_wait_seconds=math.inf,  # virtual time advances only when a wait ends
        )
        self._wakes.append(made.wake)  # type: ignore[attr-defined] # the sandbox's own
        return made

    def repeat(self, name: str, done: Callable[[], bool]) -> None:
        """Start a client that calls `done` every second until it returns True."""

        def run() -> None:
            while not done():
                self._threads.sleep(1.0)

        self._start(name, run)

    def later(self, name: str, seconds: float, act: Callable[[], object]) -> None:
        """Start a client that calls `act` after some seconds."""

        def run() -> None:
            self._threads.sleep(seconds)
            act()

        self._start(name, run)

    def _start(self, name: str, run: Callable[[], None]) -> None:
        thread = VirtualThread(self._threads, target=run, name=name)
        # The thread must not belong to the calling thread's process, or it would end with that process.
        thread.process = self
        thread.start()

    def _live(self) -> None:
        """Run the cluster's own controllers whenever they are due."""
        engine = self.sandbox.engine
        at: float | None = None
        while True:
            self._changed.clear()
            version = self.version
            before, at = at, engine.tick()
            if self.version != version:
                for wake in self._wakes:
                    wake()
            # The next due time stays the same while a client has not read its watch events.
            least = _IDLE_SECONDS if at == before else _TICK_SECONDS
            self._changed.wait(None if at is None else max(least, at - engine.now()))
