"""
The default mode: a process handles all objects, as if it were the only replica.

The other modes are subclasses of this one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from handloop.controller.cli.options import Options
from handloop.controller.cli.problems import Problem


class Process(NamedTuple):
    """
    The parts of a starting process that a mode can use.

    Fields: config is a ClientConfig; services are the program's ProcessServices; say is called to print a
    problem; end_page is called with the reason why the program ends, and shows it on the live page.
    """

    config: Any
    services: Any
    say: Callable[[Problem], object]
    end_page: Callable[[str], object]
    seams: Any


class Alone:
    """
    The mode of a single replica, and the base class of the modes for several replicas.

    `--help` uses the class without loading the client. Fields: flag is the flag that selects the mode, or ""
    if none is needed; needs_all_namespaces is True if the mode cannot be limited to some namespaces;
    divides_objects is True if the replicas divide the objects, so that a replica can have none; refusals are
    the errors from Manager.run that are reported as E17.
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
        """Return the Access that the mode needs in addition to the controllers' access."""
        return ()

    def lease_pattern(self) -> re.Pattern[str]:
        """Return a pattern that matches the full name of each Lease that the mode uses."""
        return re.compile(re.escape(self._options.leader_elect_resource_name))

    def facts(self) -> str:
        """Return what the banner says about the mode, or "" to add nothing."""
        return ""

    def findings(self, client: Any, allowed: Iterable[Any]) -> Iterator[str]:  # noqa: ARG002 - nothing to ask
        """
        Yield the lines that `doctor` prints about the mode.

        Args: client is a Client; allowed are the Permissions that the server grants.
        Blocks: while it sends requests. Raises: TransportError if a request gets no response.
        """
        return iter(())

    def manager_options(self, process: Process) -> Mapping[str, Any]:  # noqa: ARG002 - nothing to connect
        """Return additional arguments for the Manager. Connections are only prepared, not opened."""
        return {}

    def join(self, manager: Any, process: Process) -> tuple[Any, ...]:  # noqa: ARG002 - nothing to join
        """Prepare the manager for this mode. Returns: the Closing objects that must be closed at the end."""
        return ()

    def lease(self) -> str:
        """Return the Lease as namespace/name, or only its name if the namespace is unknown."""
        options = self._options
        return f"{options.leader_elect_resource_namespace}/{options.leader_elect_resource_name}".lstrip("/")
