"""A process of the operator, and its way to the server, where the plan strikes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from prometheus_client import CollectorRegistry

from handloop.client.errors import ConnectionBroken
from handloop.client.http.response import Response, Stream
from handloop.client.resource_client import Client
from handloop.client.transport import ForwardingTransport, Transport
from handloop.controller.runtime.manager import Manager
from handloop.testing.explore.cluster import VirtualCluster
from handloop.testing.explore.plan import CRASHES
from handloop.testing.explore.played import Journal, Rival, Write
from handloop.testing.explore.strikes import answer_of, rival_acts, target_of
from handloop.testing.explore.virtual_threads import VirtualThread

BLIND_SECONDS: Final = 30.0
_READS: Final = ("GET", "HEAD")
_UNCOUNTED: Final = re.compile(r"/api/v1/namespaces/[^/]+/events\b|/apis/(events|coordination)\.k8s\.io/")


class Process:
    """One process of the operator. State: is_dead, after a crash: it reaches the server no more."""

    def __init__(
        self,
        set_up: Callable[[Any], object],
        cluster: VirtualCluster,
        journal: Journal,
        struck_here: Callable[[str, int], str],
        crash: Callable[[Process], None],
        *,
        name: str = "process 1",
    ) -> None:
        """
        Args: crash ends a process, as by kill -9. struck_here is called once at each call of the operator,
        just before the server gets it, with the kind of the call as a strike begins ("" = a write) and its
        number among those of its kind. It tells what strikes there, "" = nothing; a trunk forks in it.
        name = who it is in the story.
        """
        self.is_dead = False
        self.name = name
        self.kinds: list[Any] = []
        self.cluster = cluster
        self.journal = journal
        self.struck_here = struck_here
        self._crash = crash
        self._set_up = set_up

    def crash(self) -> None:
        """End here; never returns in a thread of the process."""
        self._crash(self)

    def start(self) -> None:
        """Set up, and run until the end of the play."""
        thread = VirtualThread(self.journal.threads, target=self._main, name="operator")
        thread.process = self
        thread.start()

    def _main(self) -> None:
        threads = self.journal.threads
        stop, seams = threads.new_event(), threads.seams
        transport = _StruckTransport(self.cluster.transport(), self)
        client: Any = Client(transport, stop=stop, seams=seams)
        manager = Manager(client, registry=CollectorRegistry(), seams=seams)
        self._set_up(manager)
        self.kinds = [informer.kind for informer in manager.informers()]
        try:
            manager.run(stop)
        except Exception as error:  # noqa: BLE001 - whatever it was, it is a verdict
            self.journal.died = f"{type(error).__name__}: {error}"
            self.journal.tell(self.name, f"the process ended by itself: {self.journal.died}")


class _StruckTransport(ForwardingTransport):
    """The operator's way to the server, where the plan strikes."""

    def __init__(self, transport: Transport, process: Process) -> None:
        super().__init__(transport)
        self._process = process

    def request(self, method: str, path: str, *, send_seconds: float = math.inf, **options: Any) -> Response:
        """One request; a write is counted, told, and may be struck."""
        self._check_alive()
        if method in _READS or _UNCOUNTED.match(path):
            return super().request(method, path, send_seconds=send_seconds, **options)
        journal = self._process.journal
        number = len(journal.writes) + 1
        struck = self._process.struck_here("", number)
        write = Write(number, journal.threads.now, method, path, 0, struck)
        journal.writes.append(write)
        answer = self._struck(
            write, options, lambda: super(_StruckTransport, self).request(method, path, **options)
        )
        journal.writes[number - 1] = write._replace(status=answer.status)
        journal.tell(self._process.name, str(journal.writes[number - 1]), number)
        return answer

    def _struck(self, write: Write, options: Mapping[str, Any], send: Callable[[], Response]) -> Response:
        process, journal, what = self._process, self._process.journal, write.struck
        if what:
            words = f"the plan strikes write {write.number}, {write.method} {write.path}: {what}"
            journal.tell("plan", words, write.number)
        if what.startswith("rival-"):
            target = target_of(write.method, write.path, options.get("body"))
            if rival_acts(process.cluster, what, target, options.get("body")):
                journal.rivals.append(Rival(what, target, process.cluster.find(target)))
        elif what in ("stale", "cut", "silent", "expired"):
            self._strike_views(what)
        elif what == "never-sent":
            raise ConnectionBroken(f"{write.method} {write.path}: the connection was refused")
        elif what in CRASHES:
            if what == "crash-after":
                journal.writes[write.number - 1] = write._replace(status=send().status)
            process.crash()
        elif what == "lost":
            journal.writes[write.number - 1] = write._replace(status=send().status)
            raise ConnectionBroken(f"{write.method} {write.path}: no answer", outcome_unknown=True)
        elif what:
            return answer_of(int(what))
        return send()

    def _strike_views(self, what: str) -> None:
        faults = self._process.cluster.sandbox.faults
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
