"""A process that works on everything, as if no other existed. The other modes override what they change."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from handloop.controller.cli.options import Options
from handloop.controller.cli.problems import Problem


class Process(NamedTuple):
    """
    What a mode needs from a starting process.

    Fields: config, a ClientConfig; services, its ProcessServices; say prints a problem; end_page says on the
    live page why the work ends.
    """

    config: Any
    services: Any
    say: Callable[[Problem], object]
    end_page: Callable[[str], object]
    seams: Any


class Alone:
    """
    What the replicas of a program do together; here nothing. `--help` loads this without a client.

    Fields: flag is the one that asks for the mode, "" = none is needed; needs_all_namespaces: the mode cannot
    be limited to some; divides_objects: a replica may hold no object although some exist; refusals are the
    errors of Manager.run for which `refused` has a message.
    """

    flag: ClassVar[str] = ""
    needs_all_namespaces: ClassVar[bool] = False
    divides_objects: ClassVar[bool] = False
    refusals: tuple[type[Exception], ...] = ()

    def __init__(self, options: Options) -> None:
        self._options = options

    def check(self) -> None:
        """Raises: ValueError if other options contradict the mode."""

    def access(self) -> Sequence[Any]:
        """Return the Access that the mode needs besides that of the controllers."""
        return ()

    def lease_pattern(self) -> re.Pattern[str]:
        """Return what the names of its Leases match in full."""
        return re.compile(re.escape(self._options.leader_elect_resource_name))

    def facts(self) -> str:
        """Return a few words for the banner, "" = none."""
        return ""

    def findings(self, client: Any, allowed: Iterable[Any]) -> Iterator[str]:  # noqa: ARG002 - nothing to ask
        """
        Yield what `doctor` says about the mode.

        Args: client is a Client; allowed are the Permissions that were granted.
        Blocks: for requests. Raises: TransportError.
        """
        return iter(())

    def manager_options(self, process: Process) -> Mapping[str, Any]:  # noqa: ARG002 - nothing to connect
        """Return what a Manager is made with. Connections are only prepared."""
        return {}

    def join(self, manager: Any, process: Process) -> tuple[Any, ...]:  # noqa: ARG002 - nothing to join
        """Let manager work as the mode says. Returns: each Closing that must be closed at the end."""
        return ()

    def refused(self, error: Exception) -> Problem:
        """Return the message for one of the refusals."""
        raise NotImplementedError from error

    def lease(self) -> str:
        """Return the Lease as namespace/name; without the namespace if it is not known."""
        options = self._options
        return f"{options.leader_elect_resource_namespace}/{options.leader_elect_resource_name}".lstrip("/")
