"""
Plays a sample of plans on a real API server. The operator runs in a separate process, which is really killed.

The workload runs in a new namespace, once undisturbed, and then once for each plan. After each step, the run
waits until the operator makes no requests and its objects stay the same. The oracles that judge the runs are
the same as in virtual time.
"""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from random import Random
from typing import Any, Final

from prometheus_client import CollectorRegistry

from handloop.client.config import ClientConfig
from handloop.client.http.response import Response
from handloop.client.resource_client import Client
from handloop.client.transport import HTTPTransport
from handloop.controller.cli.dry_set_up import DrySetUp
from handloop.controller.runtime.manager import Manager
from handloop.seams.quiet_logs import quiet_logs
from handloop_explore.administrator import DEFINITIONS, Administrator, RefusedError
from handloop_explore.end_state import end_state
from handloop_explore.leadership import Leadership
from handloop_explore.oracles import verdicts
from handloop_explore.plan import Plan, Strike, Where
from handloop_explore.played import Journal, Played, State
from handloop_explore.report import Failure, Report, UndisturbedError
from handloop_explore.struck_transport import StruckTransport
from handloop_explore.views import Views
from handloop_explore.workload import Invariant, Workload, broken

SAMPLE: Final = 12
WHATS: Final = (
    "crash-before",
    "crash-after",
    "lost",
    "rival-edit",
    "rival-delete",
    "rival-recreate",
    "rival-takes-name",
)
_NAMESPACES: Final = "/api/v1/namespaces"
_FURNITURE: Final = ("ConfigMap/kube-root-ca.crt", "ServiceAccount/default")
"""The objects that the server creates in each namespace."""
_QUIET_SECONDS: Final = 2.0
_PATIENCE_SECONDS: Final = 15.0
"""How long a state must stay the same before the run continues, if it differs from the undisturbed state."""
_LIMIT_SECONDS: Final = 120.0
_RESTART_SECONDS: Final = 1.0
_FORK: Final = get_context("fork")


class ServerReport(Report):
    """The report of a sample of plans. It omits processor times, because the plans mostly wait."""

    @property
    def head(self) -> str:
        """The figures, in one line."""
        ended = ", interrupted" if self.is_interrupted else ""
        return f"{self.plans} plans on a server in {self.wall_seconds:.0f} s, {self.failed} failed{ended}"


def run_on_server(
    workload: Workload,
    config: ClientConfig,
    *,
    plans: int = SAMPLE,
    seconds: float = math.inf,
    seed: int = 1,
    invariants: Sequence[Invariant] = (),
    replay: str = "",
    progress: Callable[[Report], object] = lambda _report: None,
    tell: Callable[[str], object] = lambda _words: None,
) -> Report:
    """
    Play a sample of plans on a server, in a namespace that is deleted at the end.

    Args: the same as for run_plans, but the plans are single strikes from WHATS, drawn from seed. tell:
    called with a line about each CRD that is installed and will not be removed at the end.
    Raises: UndisturbedError if the undisturbed run fails; ValueError if the plan cannot be played on a
    server; RefusedError if the server refuses a request; TransportError if it cannot be reached.
    Blocks: for about ten seconds per plan.
    """
    given = Plan.parse(replay)
    if any(strike.where or strike.what not in WHATS for strike in given.strikes):
        raise ValueError(f"on a server, a plan can only strike writes, with one of: {', '.join(WHATS)}")
    if workload.replicas > 1:
        raise ValueError("on a server, only one process runs at a time; set replicas=1")
    with _namespace(workload, config, tell) as cluster:
        undisturbed = _Run(workload, Plan(), cluster, None).played(invariants)
        report = ServerReport(undisturbed, seed)
        if wrong := verdicts(undisturbed, undisturbed):
            raise UndisturbedError(ServerReport.of_undisturbed(undisturbed, wrong))
        began = time.monotonic()
        try:
            for plan in [given] if replay else sample(len(undisturbed.writes), plans, seed):
                played = _Run(workload, plan, cluster, undisturbed).played(invariants)
                report.count(plan)
                if wrong := verdicts(undisturbed, played):
                    report.failures.append(Failure.of(undisturbed, played, wrong))
                    report.failed += 1
                report.wall_seconds = time.monotonic() - began
                progress(report)
                if report.wall_seconds >= seconds:
                    break
        except KeyboardInterrupt:
            report.is_interrupted = True
    return report


def sample(writes: int, plans: int, seed: int) -> list[Plan]:
    """Return random plans for a workload with `writes` writes. The same seed produces the same plans."""
    singles = [Plan((Strike(number, what),)) for number in range(1, writes + 1) for what in WHATS]
    return sorted(Random(seed).sample(singles, min(plans, len(singles))), key=singles.index)


class _ServerCluster(Administrator):
    """
    The administrator of one namespace on a server.

    Fields: kinds, the namespaced kinds that the operator watches; reconciled, the kinds that it reconciles.
    """

    version = 0  # unused, because a real server's views cannot be rewound

    def __init__(self, workload: Workload, config: ClientConfig, namespace: str) -> None:
        self.config = config
        self.namespace = namespace
        super().__init__(HTTPTransport(config), namespace)
        (setup,) = DrySetUp((workload.set_up,), None).setups()
        self.reconciled = set(setup.kinds)
        self._definitions = workload.defined(setup.kinds)
        manager = Manager(Client(self._admin))
        workload.set_up(manager)
        self.kinds: list[Any] = [one.kind for one in manager.informers() if one.kind.resource.namespaced]
        if others := [kind.resource.kind for kind in self.reconciled if not kind.resource.namespaced]:
            raise ValueError(f"on a server, reconciled kinds must be namespaced, unlike {', '.join(others)}")

    def install(self, tell: Callable[[str], object]) -> None:
        """Install the missing CRDs."""
        for definition in self._definitions:
            name, spec = definition["metadata"]["name"], definition["spec"]
            if self.find(f"{DEFINITIONS}/{name}") is None:
                self.send("POST", DEFINITIONS, definition)
                tell(f"installed the CustomResourceDefinition {name}, which stays")
            version = next(one["name"] for one in spec["versions"] if one["served"])
            path = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}?limit=1"
            _until(lambda path=path: self.find(path) is not None)  # type: ignore[misc] # this turn's

    def state(self) -> Mapping[str, dict[str, Any]]:
        """Return the end state, without the objects that the server creates in each namespace."""
        found = end_state(self, self.kinds, self.reconciled)
        return {
            key: obj for key, obj in found.items() if key.replace(f" {self.namespace}", "") not in _FURNITURE
        }

    def paths(self, kinds: Collection[Any]) -> list[str]:
        """Return the paths of all objects of these kinds."""
        names = [(kind, obj["metadata"]["name"]) for kind in kinds for obj in self.objects(kind)]
        return [
            kind.resource.path(namespace=self.namespace, name=name)
            for kind, name in names
            if f"{kind.resource.kind}/{name}" not in _FURNITURE
        ]

    def repeat(self, name: str, done: Callable[[], bool]) -> None:
        def run() -> None:
            while not done():
                time.sleep(1.0)

        threading.Thread(target=run, name=name, daemon=True).start()

    def later(self, name: str, seconds: float, act: Callable[[], object]) -> None:
        raise NotImplementedError(f"{name}: on a server, a plan cannot act later")


@contextmanager
def _namespace(
    workload: Workload, config: ClientConfig, tell: Callable[[str], object]
) -> Iterator[_ServerCluster]:
    nowhere = _ServerCluster(workload, config, "")
    made = nowhere.send("POST", _NAMESPACES, {"metadata": {"generateName": "explore-"}})["metadata"]["name"]
    try:
        cluster = _ServerCluster(workload, config, made)
        cluster.install(tell)
        yield cluster
    finally:
        nowhere.send("DELETE", f"{_NAMESPACES}/{made}")


class _RealTime:
    """The part of VirtualThreads that a Journal uses."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self.sleep = time.sleep

    @property
    def now(self) -> float:
        return time.monotonic() - self._began


class _Run:
    """
    One run, with the workload in this process and the operator in another.

    State: journal, the reports of both processes; _heard_at, when the operator last reported something.
    """

    def __init__(self, workload: Workload, plan: Plan, cluster: Any, undisturbed: Played | None) -> None:
        clock: Any = _RealTime()
        self.journal = Journal(clock)
        self._workload, self._plan, self._cluster = workload, plan, cluster
        self._good = list(undisturbed.states) if undisturbed else []
        self._states: list[State] = []
        self._busy = 0
        self._processes = 0
        self._start()

    def played(self, invariants: Sequence[Invariant]) -> Played:
        """Play the run, and delete what it created."""
        journal = self.journal
        try:
            self._rest()
            for step in self._workload.steps:
                if step.do is None:
                    self._settle()
                else:
                    self._do(step.words, step.do)
                    self._rest()
            self._settle()
            wrong = [words for one in invariants if (words := broken(one, self._cluster))]
            self._clear(self._cluster.reconciled)
        finally:
            self._process.kill()
            self._process.join()
        self._clear(self._cluster.kinds)
        made = Counter(one.path for one in journal.writes if one.status == 201)  # noqa: PLR2004
        story = sorted(journal.story)
        return Played(
            self._plan,
            journal.writes,
            story,
            self._states,
            self._busy,
            made,
            journal.rivals,
            journal.died,
            wrong,
            0,
        )

    def _do(self, words: str, do: Callable[[Any], object]) -> None:
        self.journal.tell("user", f"the user: {words}")
        try:
            do(self._cluster)
        except RefusedError as error:
            if not self.journal.rivals:
                raise
            self.journal.tell("server", f"the server refuses: {error}")

    def _settle(self) -> None:
        good = self._good[len(self._states)].objects if self._good else None
        objects = self._rest(good)
        left = [self._cluster.find(rival.target) for rival in self.journal.rivals]
        self._states.append(State(objects, left))

    def _rest(self, good: Mapping[str, Any] | None = None) -> Mapping[str, dict[str, Any]]:
        """
        Wait until neither the operator nor its objects change. Wait longer if the state differs from `good`.

        Returns: the state.
        """
        state: Mapping[str, dict[str, Any]]
        state, changed_at = self._cluster.state(), time.monotonic()
        until, writes = time.monotonic() + _LIMIT_SECONDS, len(self.journal.writes)
        while time.monotonic() < until:
            self._hear(0.2)
            now = self._cluster.state()
            if now != state:
                state, changed_at = now, time.monotonic()
            enough = _QUIET_SECONDS if good in (None, state) else _PATIENCE_SECONDS
            if time.monotonic() - max(changed_at, self._heard_at) >= enough:
                return state
        self._busy = len(self.journal.writes) - writes
        return state

    def _clear(self, kinds: Collection[Any]) -> None:
        """Delete all objects of the kinds, and wait. If some remain too long, remove their finalizers."""
        cluster = self._cluster

        def send(method: str, body: Mapping[str, Any] | None = None) -> None:
            for path in cluster.paths(kinds):
                with suppress(RefusedError):  # it may be gone already
                    cluster.send(method, path, body)

        send("DELETE")
        try:
            _until(lambda: not cluster.paths(kinds), lambda: self._hear(0.1))
        except TimeoutError:
            send("PATCH", {"metadata": {"finalizers": None}})

    def _start(self) -> None:
        self._processes += 1
        self._heard_at = time.monotonic()
        self._pipe, pipe = _FORK.Pipe(duplex=False)
        operator = _Operator(self._cluster, self.journal, self._plan, self._processes, pipe)
        self._process = _FORK.Process(target=operator.run, args=(self._workload,), daemon=True)
        self._process.start()
        pipe.close()

    def _hear(self, seconds: float) -> None:
        """Wait up to `seconds` for a report from the operator. If the operator has ended, restart it."""
        if self._pipe.closed or not self._pipe.poll(seconds):
            return
        self._heard_at = time.monotonic()
        journal = self.journal
        try:
            told, journal.writes, journal.rivals, journal.died = self._pipe.recv()
            journal.story += told
        except EOFError:
            self._pipe.close()
            self._process.join()
            if not journal.died:
                time.sleep(_RESTART_SECONDS)
                journal.tell(f"process {self._processes + 1}", "another process starts")
                self._start()


class _Operator:
    """
    The operator in its own process, which reports all its actions to the workload's process.

    State: _told, how many lines of the story have been reported. Threads: usable from any thread.
    """

    def __init__(self, cluster: Any, journal: Journal, plan: Plan, number: int, pipe: Connection) -> None:
        self.cluster = cluster
        self.journal = journal
        self.number = number
        self.name = f"process {number}"
        self.leadership: Leadership | None = None
        self.views = Views(self.cluster, self.name)
        self.struck_here: Callable[[Where, int], str] = self._struck_here
        self._plan = plan
        self._pipe = pipe
        self._told = len(journal.story)
        self._lock = threading.Lock()

    def run(self, workload: Workload) -> None:
        """Set up and work until the process is killed."""
        cluster = self.cluster
        cluster.__init__(workload, cluster.config, cluster.namespace)  # now with its own connections
        client = Client(_OneWriteAtATime(HTTPTransport(cluster.config), self), user_agent=self.name)
        manager = Manager(client, namespaces=[cluster.namespace], registry=CollectorRegistry())
        with quiet_logs():
            workload.set_up(manager)
            try:
                manager.run(threading.Event())
            except Exception as error:  # noqa: BLE001 - any error is a verdict
                self.journal.died = f"{type(error).__name__}: {error}"
        self._report()

    def _struck_here(self, where: Where, number: int) -> str:
        self._report()
        return self._plan.at(number, where)

    def check_alive(self) -> None:
        """Do nothing, because a process that is really killed cannot send another request."""

    def crash(self, *, is_down: bool = False) -> None:  # noqa: ARG002 - no plan on a server uses it
        """End, as by kill -9."""
        self.journal.tell(self.name, "the process ends, by kill -9")
        self._report()
        os.kill(os.getpid(), signal.SIGKILL)

    def _report(self) -> None:
        journal = self.journal
        with self._lock:
            story = journal.story[self._told :]
            self._told += len(story)
            self._pipe.send((story, journal.writes, journal.rivals, journal.died))


class _OneWriteAtATime(StruckTransport):
    """A transport that sends one write at a time, so that writes can be numbered."""

    def __init__(self, transport: HTTPTransport, operator: _Operator) -> None:
        super().__init__(transport, operator)
        self._writing = threading.Lock()
        self._operator = operator

    def _write(self, *request: Any) -> Response:
        with self._writing:
            try:
                return super()._write(*request)
            finally:
                self._operator._report()  # noqa: SLF001 - in the same module


def _until(done: Callable[[], bool], pause: Callable[[], object] = lambda: time.sleep(0.1)) -> None:
    """Raises: TimeoutError."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while not done():
        if time.monotonic() > until:
            raise TimeoutError
        pause()
