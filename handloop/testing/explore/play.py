"""One run of a workload under a plan: the operator's processes, its writes, and what is left in the end."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Final, NamedTuple

from prometheus_client import CollectorRegistry

from handloop.client.errors import ConnectionBroken
from handloop.client.http.response import Response, Stream
from handloop.client.resource_client import Client
from handloop.client.transport import ForwardingTransport, Transport
from handloop.controller.cli.dry_set_up import DrySetUp
from handloop.controller.runtime.manager import Manager
from handloop.seams.quiet_logs import quiet_logs
from handloop.testing.explore.cluster import Object, RefusedError, VirtualCluster
from handloop.testing.explore.end_state import end_state
from handloop.testing.explore.plan import CRASHES, Plan
from handloop.testing.explore.strikes import answer_of, rival_acts, target_of
from handloop.testing.explore.virtual_threads import VirtualThread, VirtualThreads
from handloop.testing.explore.workload import Invariant, Workload, broken

BLIND_SECONDS: Final = 30.0
RESTART_SECONDS: Final = 1.0
QUIET_SECONDS: Final = 120.0
_CREATED: Final = 201
_READS: Final = ("GET", "HEAD")
_UNCOUNTED: Final = re.compile(r"/api/v1/namespaces/[^/]+/events\b|/apis/(events|coordination)\.k8s\.io/")


class Write(NamedTuple):
    """
    One write of the operator: number from 1, when, method and path, the answer's status (0 = none came).

    struck = what the plan did to it.
    """

    number: int
    at: float
    method: str
    path: str
    status: int
    struck: str = ""

    def __str__(self) -> str:
        answer = self.status or "no answer"
        return f"{self.at:8.2f} s  write {self.number}: {self.method} {self.path}: {answer}"


class Rival(NamedTuple):
    """What a rival did to an object: target is its path, made the object that it made there, None = none."""

    what: str
    target: str
    made: Object | None


class State(NamedTuple):
    """The cluster at one time: objects = end_state; left = what then stands at the targets of rivals."""

    objects: Mapping[str, dict[str, Any]]
    left: list[Object | None]


class Played(NamedTuple):
    """
    What came of a plan.

    story = lines in the order of time; states = the cluster at each settled() and in the end; busy = how many
    writes came in the last two minutes; made = how often a write at each path made an object; rivals = what
    rivals did; died = why a process ended by itself, "" = none did; broken = invariants of the author that do
    not hold; switches = how often a thread was given the processor.
    """

    plan: Plan
    writes: list[Write]
    story: list[str]
    states: list[State]
    busy: int
    made: Mapping[str, int]
    rivals: list[Rival]
    died: str
    broken: list[str]
    switches: int


def play(workload: Workload, plan: Plan, invariants: Sequence[Invariant] = ()) -> Played:
    """Play a workload under a plan, from the beginning. The same plan gives the same run."""
    order = Random(plan.order) if plan.order else None
    with quiet_logs(), VirtualThreads(order) as threads:
        return _Run(threads, workload, plan).played(invariants)


class _Run:
    """
    One run.

    State: what Played has, so far; _process, the operator's present one. Threads: those of `threads`.
    """

    def __init__(self, threads: VirtualThreads, workload: Workload, plan: Plan) -> None:
        self.threads = threads
        self.plan = plan
        self.set_up = workload.set_up
        self.writes: list[Write] = []
        self.story: list[str] = []
        self.rivals: list[Rival] = []
        self.died = ""
        self._states: list[State] = []
        self._workload = workload
        (setup,) = DrySetUp((workload.set_up,), None).setups()
        self.reconciled = set(setup.kinds)
        self.cluster = VirtualCluster(threads, setup.kinds)
        self._process = _Process(self)

    def played(self, invariants: Sequence[Invariant]) -> Played:
        """Do it."""
        threads, workload, cluster = self.threads, self._workload, self.cluster
        self._process.start()
        threads.run_for(workload.seconds)
        for step in workload.steps:
            if step.do is None:
                self._settle()
            else:
                self._do(step.words, step.do)
                threads.run_for(workload.seconds)
        self._settle()
        before = len(self.writes)
        threads.run_for(QUIET_SECONDS)
        return Played(
            self.plan,
            self.writes,
            self.story,
            self._states,
            len(self.writes) - before,
            Counter(one.path for one in self.writes if one.status == _CREATED),
            self.rivals,
            self.died,
            [words for words in (broken(invariant, cluster) for invariant in invariants) if words],
            threads.switches,
        )

    def _settle(self) -> None:
        self.threads.run_for(self._workload.settle_seconds)
        objects = end_state(self.cluster, self._process.kinds, self.reconciled)
        self._states.append(State(objects, [self.cluster.find(rival.target) for rival in self.rivals]))

    def _do(self, words: str, do: Callable[[VirtualCluster], object]) -> None:
        self.tell(f"the user: {words}")
        try:
            do(self.cluster)
        except RefusedError as error:
            # after a rival's deletion there may be nothing to change
            if not any(rival.what == "rival-delete" for rival in self.rivals):
                raise
            self.tell(f"the server refuses: {error}")

    def tell(self, line: str) -> None:
        """Add a line to the story."""
        self.story.append(f"{self.threads.now:8.2f} s  {line}")

    def crash(self) -> None:
        """End the process; another one starts a second later. Never returns, in a thread of the process."""
        process = self._process
        process.is_dead = True
        self.tell("the process ends, as by kill -9")
        self.threads.in_main(lambda: self._replace(process))
        self.threads.park()

    def _replace(self, process: _Process) -> None:
        self.threads.kill([one for one in self.threads.threads() if one.process is process])
        self._process = _Process(self)

        def start() -> None:
            self.threads.sleep(RESTART_SECONDS)
            self.tell("another process starts")
            self._process.start()

        self.threads.spawn("restart", start)


class _Process:
    """One process of the operator. State: is_dead, after a crash: it reaches the server no more."""

    def __init__(self, run: _Run) -> None:
        self.is_dead = False
        self._run = run
        self.kinds: list[Any] = []

    def start(self) -> None:
        """Set up, and run until the end of the play."""
        thread = VirtualThread(self._run.threads, target=self._main, name="operator")
        thread.process = self
        thread.start()

    def _main(self) -> None:
        threads = self._run.threads
        stop, seams = threads.new_event(), threads.seams
        transport = _StruckTransport(self._run.cluster.transport(), self._run, self)
        client: Any = Client(transport, stop=stop, seams=seams)
        manager = Manager(client, registry=CollectorRegistry(), seams=seams)
        self._run.set_up(manager)
        self.kinds = [informer.kind for informer in manager.informers()]
        try:
            manager.run(stop)
        except Exception as error:  # noqa: BLE001 - whatever it was, it is a verdict
            self._run.died = f"{type(error).__name__}: {error}"
            self._run.tell(f"the process ended by itself: {self._run.died}")


class _StruckTransport(ForwardingTransport):
    """The operator's way to the server, where the plan strikes."""

    def __init__(self, transport: Transport, run: _Run, process: _Process) -> None:
        super().__init__(transport)
        self._run = run
        self._process = process

    def request(self, method: str, path: str, *, send_seconds: float = math.inf, **options: Any) -> Response:
        """One request; a write is counted, told, and may be struck."""
        self._check_alive()
        if method in _READS or _UNCOUNTED.match(path):
            return super().request(method, path, send_seconds=send_seconds, **options)
        run = self._run
        number = len(run.writes) + 1
        struck = run.plan.at(number)
        write = Write(number, run.threads.now, method, path, 0, struck)
        run.writes.append(write)
        answer = self._struck(
            write, options, lambda: super(_StruckTransport, self).request(method, path, **options)
        )
        run.writes[number - 1] = write._replace(status=answer.status)
        run.tell(str(run.writes[number - 1])[12:])
        return answer

    def _struck(self, write: Write, options: Mapping[str, Any], send: Callable[[], Response]) -> Response:
        run, what = self._run, write.struck
        if what:
            run.tell(f"the plan strikes write {write.number}, {write.method} {write.path}: {what}")
        if what.startswith("rival-"):
            target = target_of(write.method, write.path, options.get("body"))
            if rival_acts(run.cluster, what, target, options.get("body")):
                run.rivals.append(Rival(what, target, run.cluster.find(target)))
        elif what in ("stale", "cut", "silent", "expired"):
            self._strike_views(what)
        elif what == "never-sent":
            raise ConnectionBroken(f"{write.method} {write.path}: the connection was refused")
        elif what in CRASHES:
            if what == "crash-after":
                run.writes[write.number - 1] = write._replace(status=send().status)
            run.crash()
        elif what == "lost":
            run.writes[write.number - 1] = write._replace(status=send().status)
            raise ConnectionBroken(f"{write.method} {write.path}: no answer", outcome_unknown=True)
        elif what:
            return answer_of(int(what))
        return send()

    def _strike_views(self, what: str) -> None:
        faults = self._run.cluster.sandbox.faults
        where: dict[str, Any] = {"seconds": BLIND_SECONDS}
        if what == "stale":
            faults.delay_watches(None, **where)
        elif what == "silent":
            faults.delay_watches(None, only_open=True)
        else:
            if what == "expired":
                faults.expire(count=len(self._process.kinds))
            faults.drop_watches("cut", only_open=True)

    def stream(self, method: str, path: str, **options: Any) -> Stream:
        """A watch."""
        self._check_alive()
        return super().stream(method, path, **options)

    def _check_alive(self) -> None:
        if self._process.is_dead:
            raise ConnectionBroken("the process has ended")
