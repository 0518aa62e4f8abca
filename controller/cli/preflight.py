"""
What is checked before the controller starts: the server answers, the CRD is there, all that is needed is
allowed.

All that is wrong is said at once, not one thing per try.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from apis.resource import Resource
from client.access import Permission, check_access, who_am_i
from client.errors import APIError, ClientError, Unauthorized
from client.resource_client import Client
from controller.access import Access
from controller.cli.problems import (
    EXIT_CONFIG,
    Effort,
    Problem,
    missing_permissions,
    missing_resource,
    no_status_subresource,
    server_problem,
)
from workqueue.clock import REAL_CLOCK, Clock

TRIES: Final = 3
PAUSE_SECONDS: Final = 2.0
_SERVER_FAILED: Final = 500


def _nothing_known() -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was found: problems in the order of their weight, and the facts for the banner."""

    problems: tuple[Problem, ...] = ()
    server_version: str = ""
    user: str = ""
    summary: str = ""

    @property
    def exit_code(self) -> int:
        """That of the first problem that is an error; 0 when there is none."""
        return next((problem.exit_code for problem in self.problems if problem.exit_code), 0)


class Preflight:
    """
    The checks, each of which asks the server.

    Args: custom are the kinds that need a CRD with a status subresource; access is what is declared;
    credentials tells what is known to be wrong with ours, and is asked only when they were not accepted.
    """

    def __init__(
        self,
        client: Client,
        *,
        host: str,
        custom: Iterable[Resource],
        access: Iterable[Access],
        namespace: str,
        credentials: Callable[[], str] = _nothing_known,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        self._client = client
        self._host = host
        self._custom = tuple(custom)
        self._access = tuple(access)
        self._namespace = namespace
        self._credentials = credentials
        self._clock = clock

    def check(self, stop: threading.Event, *, tries: int = TRIES) -> Report:
        """
        Ask the server everything.

        Args: tries is how often an unreachable server is asked before that is the finding.
        Blocks: until all answers are there; ends early when stop is set.
        """
        version, problem = self._reach(stop, tries)
        if problem is not None:
            return Report(problems=(problem,), summary=f"✗ reachable ({problem.code})")
        try:
            return self._look_around(version)
        except ClientError as error:
            problem = self._problem(error, Effort())
            return Report(problems=(problem,), server_version=version, summary=f"✗ {problem.what}")

    def _reach(self, stop: threading.Event, tries: int) -> tuple[str, Problem | None]:
        """The server's version, and what kept us from the server; a refusal shows that it is there."""
        problem: Problem | None = None
        began_at = self._clock.now()
        for attempt in range(tries):
            if attempt and self._clock.sleep(PAUSE_SECONDS, stop):
                break
            try:
                return str(self._client.version()), None
            except ClientError as error:
                effort = Effort(tries=attempt + 1, seconds=self._clock.now() - began_at)
                problem = self._problem(error, effort)
                if problem.exit_code == EXIT_CONFIG:
                    break
                if isinstance(error, APIError) and error.code < _SERVER_FAILED:
                    return "", None
        return "", problem

    def _problem(self, error: ClientError, effort: Effort) -> Problem:
        known = self._credentials() if isinstance(error, Unauthorized) else ""
        return server_problem(error, host=self._host, effort=effort, credentials=known)

    def _look_around(self, version: str) -> Report:
        identity = who_am_i(self._client.rest)
        user = identity.username if identity else ""
        kinds = [problem for resource in self._custom for problem in self._kind_problems(resource)]
        denied, total = self._denied()
        problems = list(kinds)
        if denied:
            problems.append(missing_permissions(user or "this user", denied, total, self._namespace))
        return Report(
            problems=tuple(problems),
            server_version=version,
            user=user,
            summary=self._summary(kinds, len(denied), total),
        )

    def _summary(self, kinds: list[Problem], denied: int, total: int) -> str:
        names = " ".join(resource.group_resource for resource in self._custom)
        crd = "✗" if any(problem.exit_code for problem in kinds) else "✓"
        return f"✓ reachable  {crd} CRD {names}  {'✗' if denied else '✓'} RBAC {total - denied}/{total}"

    def _kind_problems(self, resource: Resource) -> list[Problem]:
        discovery = self._client.discovery()
        served = discovery.resources(resource.group, resource.version)
        if served is None or served.find(resource.plural) is None:
            versions = discovery.versions(resource.group) if served is None else ()
            return [missing_resource(resource.group_resource, resource.version, versions)]
        if "status" not in served.subresources(resource.plural):
            return [no_status_subresource(resource.group_resource)]
        return []

    def _denied(self) -> tuple[tuple[str, ...], int]:
        """Everything declared that is not allowed, as `verb resource`, and how much was asked."""
        wanted = [
            Permission(verb, entry.resource, self._namespace, entry.subresource)
            for entry in self._access
            for verb in entry.verbs
        ]
        denied = [
            f"{permission.verb} {_qualified(permission)}"
            for permission in wanted
            if not check_access(self._client.rest, permission).allowed
        ]
        return tuple(denied), len(wanted)


def _qualified(permission: Permission) -> str:
    sub = f"/{permission.subresource}" if permission.subresource else ""
    return permission.resource.group_resource + sub
