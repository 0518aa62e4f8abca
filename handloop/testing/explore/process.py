"""A process of the operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from prometheus_client import CollectorRegistry

from handloop.client.errors import ConnectionBroken
from handloop.client.resource_client import Client
from handloop.controller.runtime.manager import Manager
from handloop.testing.explore.cluster import VirtualCluster
from handloop.testing.explore.plan import Where
from handloop.testing.explore.played import Journal
from handloop.testing.explore.struck_transport import StruckTransport
from handloop.testing.explore.virtual_threads import VirtualThread


class Process:
    """One process of the operator. State: is_dead, after a crash: it reaches the server no more."""

    def __init__(
        self,
        set_up: Callable[[Any], object],
        cluster: VirtualCluster,
        journal: Journal,
        struck_here: Callable[[Where, int], str],
        crash: Callable[[Process], None],
        *,
        number: int = 1,
    ) -> None:
        """
        Args: crash ends a process, as by kill -9. struck_here is called once at each call of the operator,
        just before the server gets it, with the kind of the call as a strike begins ("" = a write) and its
        number among those of its kind. It tells what strikes there, "" = nothing; a trunk forks in it.
        number = its own, from 1; another one after a crash has another.
        """
        self.is_dead = False
        self.number = number
        self.kinds: list[Any] = []
        self.manager: Manager | None = None
        self.cluster = cluster
        self.journal = journal
        self.struck_here = struck_here
        self._crash = crash
        self._set_up = set_up

    @property
    def name(self) -> str:
        """What the story calls it."""
        return f"process {self.number}"

    def check_alive(self) -> None:
        """Raises: ConnectionBroken after a crash."""
        if self.is_dead:
            raise ConnectionBroken("the process has ended")

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
        agent = f"operator/{self.number}"
        transport = StruckTransport(self.cluster.transport(), self, agent)
        client: Any = Client(transport, stop=stop, seams=seams, user_agent=agent)
        manager = Manager(client, registry=CollectorRegistry(), seams=seams)
        self._set_up(manager)
        self.manager = manager
        self.kinds = [informer.kind for informer in manager.informers()]
        try:
            manager.run(stop)
        except Exception as error:  # noqa: BLE001 - whatever it was, it is a verdict
            self.journal.died = f"{type(error).__name__}: {error}"
            self.journal.tell(self.name, f"the process ended by itself: {self.journal.died}")
