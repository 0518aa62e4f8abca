"""
Checks before the controllers start that the server answers, the CRDs exist and all permissions are granted.

All problems are reported at once, instead of one per attempt. `doctor` runs the checks without starting
anything.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import Any, Final, TextIO, TypeVar

from handloop.apis.class_attributes import has_status_subresource
from handloop.apis.declaration import is_built_in
from handloop.apis.meta import Kind
from handloop.apis.resource import Resource
from handloop.client.access_review import check_access, who_am_i
from handloop.client.config import ClientConfig, load_config
from handloop.client.discovery import ServedResource
from handloop.client.errors import APIError, ClientError, ConfigError, Unauthorized
from handloop.client.resource_client import Client
from handloop.client.server_url import shown_server
from handloop.client.transport import HTTPTransport
from handloop.controller.cli.connection_problems import config_problem, expired_credentials, server_problem
from handloop.controller.cli.declarations import declared_access, declared_kinds, written_kinds
from handloop.controller.cli.options import Options
from handloop.controller.cli.permissions import Need, missing_permissions, needs, rbac_command
from handloop.controller.cli.problems import (
    EXIT_CONFIG,
    EXIT_FATAL,
    EXIT_OK,
    Problem,
    foreign_scope,
    install_fixes,
    missing_foreign,
    missing_resource,
    no_status_subresource,
    not_converted,
    other_definition,
)
from handloop.controller.cli.replicas import replicas_of
from handloop.controller.cli.terminal import printable, writable
from handloop.controller.cli.values import format_duration
from handloop.seams.seams import REAL_SEAMS, Seams
from handloop.seams.threads import side_by_side

T = TypeVar("T")

TRIES: Final = 3
PAUSE_SECONDS: Final = 2.0
REQUEST_SECONDS: Final = 5.0
"""The deadline of each request in the checks. A stop waits no longer than this for the current requests."""
AT_ONCE: Final = 4
"""The number of parallel requests. The informers use the same connections afterwards."""
_SERVER_FAILED: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check: its subject, and the code of the problem that was found, or ""."""

    check: str
    subject: str
    ok: bool
    code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of all checks: the problems, the findings, and the facts for the startup banner."""

    problems: tuple[Problem, ...] = ()
    findings: tuple[Finding, ...] = ()
    server_version: str = ""
    user: str = ""
    summary: str = ""
    stopped: bool = False

    @property
    def exit_code(self) -> int:
        """
        The exit code of the first error.

        If there is no error, the exit code is 0, or 1 if a stop was requested before all checks were done.
        """
        otherwise = EXIT_FATAL if self.stopped else EXIT_OK
        return next((problem.exit_code for problem in self.problems if problem.exit_code), otherwise)


class _StoppedError(Exception):
    """A stop was requested before the checks were complete."""


def _go_on_unless(stop: threading.Event) -> None:
    if stop.is_set():
        raise _StoppedError


def _unless_stopped(stop: threading.Event, question: Callable[[], T]) -> T:
    """Call the function and return its result. Raises: _StoppedError if a stop has already been requested."""
    _go_on_unless(stop)
    return question()


class Preflight:
    """
    The checks for one configuration and one command line. `run` and `doctor` make the same checks.

    They check the access that the chosen controllers declare, in the namespaces that they watch, and the
    access to the lease.
    """

    def __init__(self, client: Client, config: ClientConfig, options: Options, seams: Seams) -> None:
        self._client = client
        self._config = config
        self._seams = seams
        self._clock = seams.clock
        self._host = shown_server(config.host)
        self._options = options
        self._operator = options.operator

    # The next two properties load the types of all kinds. For this reason, they are not used until the server
    # has answered.

    @cached_property
    def _custom(self) -> Mapping[Resource, type[Any]]:
        return {kind.resource: kind for kind in declared_kinds(self._options)}

    @cached_property
    def _foreign(self) -> Sequence[Resource]:
        """The custom resources that the controllers read or write, but whose CRDs other programs provide."""
        ours = {(one.group, one.plural) for one in self._custom}
        used = {
            (one.resource.group, one.resource.plural): one.resource for one in declared_access(self._options)
        }
        return [one for key, one in used.items() if not is_built_in(one.group) and key not in ours]

    @cached_property
    def _needs(self) -> Sequence[Need]:
        # Two kinds of access are not checked: access that can be granted by name, and access in namespaces
        # that labels select, because these namespaces change, and a RoleBinding in each of them is enough.
        labels = self._options.namespace_labels
        access = [
            one
            for one in declared_access(self._options)
            if not one.by_name and not one.optional and not (labels and one.resource.namespaced)
        ]
        return needs(access, self._options.namespaces, name=self._operator.name)

    def check(self, stop: threading.Event, *, tries: int = TRIES) -> Report:
        """
        Send all the requests that the checks need.

        Args: tries limits the attempts to reach a server.
        Blocks: until all answers have arrived. After a stop, it waits only for the current requests.
        """
        server = ""
        try:
            _go_on_unless(stop)
            problem = self._login_problem()
            # A stop also ends the login, and the error does not mean then that the credentials are wrong.
            _go_on_unless(stop)
            if problem is None:
                server, problem = self._reach(stop, tries)
            if problem is not None:
                return self._unreached(problem, f"✗ reachable ({problem.code})")
            return self._look_around(server, stop)
        except ClientError as error:
            problem = self._problem(error)
            return replace(self._unreached(problem, f"✗ {problem.what}"), server_version=server)
        except _StoppedError:
            finding = Finding(check="server", subject="stopped before the checks were complete", ok=False)
            return Report(findings=(finding,), server_version=server, summary="stopped", stopped=True)

    def _unreached(self, problem: Problem, summary: str) -> Report:
        finding = Finding(check="server", subject=self._host, ok=False, code=problem.code)
        return Report(problems=(problem,), findings=(finding,), summary=summary)

    def _login_problem(self) -> Problem | None:
        # Log in before any request, because a login program or a user at a browser may take longer than a
        # request.
        try:
            self._config.credentials.authorization()
        except ConfigError as error:
            return config_problem(error, self._operator.command)
        return None

    def _reach(self, stop: threading.Event, tries: int) -> tuple[str, Problem | None]:
        """
        Return the server's version, and a problem if the server did not answer.

        A response that refuses the request also counts as an answer.
        """
        problem: Problem | None = None
        began_at = self._clock.now()
        for attempt in range(tries):
            if attempt and self._clock.sleep(PAUSE_SECONDS, stop):
                break
            try:
                return str(self._client.version()), None
            except ClientError as error:
                tried = f"tried {attempt + 1} times in {format_duration(round(self._clock.now() - began_at))}"
                problem = self._problem(error, f" ({tried})" if attempt else "")
                if problem.exit_code == EXIT_CONFIG:
                    break
                if isinstance(error, APIError) and error.code < _SERVER_FAILED:
                    return "", None
        return "", problem

    def _problem(self, error: ClientError, effort: str = "") -> Problem:
        now = self._clock.time()
        known = expired_credentials(self._config, now) if isinstance(error, Unauthorized) else ""
        return server_problem(error, host=self._host, effort=effort, credentials=known)

    def _look_around(self, version: str, stop: threading.Event) -> Report:
        _go_on_unless(stop)
        questions: list[Callable[[], Any]] = [
            partial(who_am_i, self._client),
            *(partial(self._kind_problems, resource) for resource in self._custom),
            *(partial(self._foreign_problems, resource) for resource in self._foreign),
            *(partial(check_access, self._client, need.permission) for need in self._needs),
        ]
        asked = [partial(_unless_stopped, stop, question) for question in questions]
        identity, *answers = side_by_side("checks", asked, self._seams.spawn, at_once=AT_ONCE)
        user = identity.username if identity else ""
        kinds = dict(zip((*self._custom, *self._foreign), answers, strict=False))
        allowed = {
            need: answer.allowed for need, answer in zip(self._needs, answers[len(kinds) :], strict=True)
        }
        denied = [need for need, is_allowed in allowed.items() if not is_allowed]
        _go_on_unless(stop)
        replicas = tuple(self._replicas(need for need, is_allowed in allowed.items() if is_allowed))
        problems = [problem for found in kinds.values() for problem in found]
        sound = [kind for resource, kind in self._custom.items() if not kinds[resource]]
        converted = list(self._converted(sound))
        problems += [not_converted(name, each.problem) for name, each in converted if each.problem]
        fits = self._fits(kinds, stop)
        problems += [problem for fit in fits if (problem := fit.problem(self._operator))]
        if denied:
            total = len(self._needs)
            problems.append(
                missing_permissions(user or "this user", denied, total, rbac_command(self._options))
            )
        shown = " ".join(part for part in (self._host, version and f"({version})") if part)
        return Report(
            problems=tuple(problems),
            findings=(
                Finding(check="server", subject=shown, ok=True),
                *([Finding(check="identity", subject=user, ok=True)] if user else []),
                *(
                    _kind_finding("CRD" if resource in self._custom else "kind", resource, found)
                    for resource, found in kinds.items()
                ),
                *(_need_finding(need, ok=is_allowed) for need, is_allowed in allowed.items()),
                *self._unchecked(),
                *self._stored_in_older(sound),
                *self._asked_for(sound),
                *(_conversion_finding(each.subject, ok=not each.problem) for _, each in converted),
                *map(_fit_finding, fits),
                *replicas,
            ),
            server_version=version,
            user=user,
            summary=self._summary(kinds, len(denied)),
        )

    def _fits(self, kinds: Mapping[Resource, list[Problem]], stop: threading.Event) -> list[Any]:
        """
        Return a Fit for each kind that the server has.

        If --preflight lets a program start despite failures, return []. FitWatch makes this check later.
        """
        if self._options.command != "doctor" and self._options.preflight != "exit":
            return []
        from handloop.controller.cli.fit_check import looked_at  # noqa: PLC0415 - not for every start

        ours = [kind for resource, kind in self._custom.items() if not kinds[resource]]
        others = [kind for kind in written_kinds(self._options) if not kinds.get(kind.resource)]
        return looked_at(self._client, ours, others, self._clock, stop)

    def _unchecked(self) -> Iterator[Finding]:
        if labels := self._options.namespace_labels:
            subject = f"not checked in the namespaces with the label {labels}"
            yield Finding(check="permissions", subject=subject, ok=True)

    def _stored_in_older(self, kinds: Iterable[type[Kind]]) -> Iterator[Finding]:
        """Yield findings about kinds that may have objects stored in older versions."""
        for kind in kinds:
            stored = self._client.discovery().stored_versions(kind.resource) if kind.previous else ()
            if older := [version for version in stored if version != kind.resource.version]:
                how = f"{self._operator.command} migrate-storage"
                subject = (
                    f"{kind.resource.group_resource}: some objects may be stored as {', '.join(older)}; {how}"
                )
                yield Finding(check="storage", subject=subject, ok=True)

    def _converted(self, kinds: Iterable[type[Kind]]) -> Iterator[tuple[str, Any]]:
        """
        Yield (definition's name, Conversion).

        Only `doctor` makes this check. When a program starts, there may be no replica yet that can convert.
        """
        if self._options.command != "doctor":
            return
        from handloop.controller.cli.conversion_check import conversions  # noqa: PLC0415 - not for a start

        for kind in kinds:
            yield from (
                (kind.resource.group_resource, each) for each in conversions(self._client, kind, self._clock)
            )

    def _asked_for(self, kinds: Iterable[type[Kind]]) -> Iterator[Finding]:
        if self._options.command == "doctor":
            from handloop.controller.cli.conversion_check import asked_for  # noqa: PLC0415 - as above

            for version in asked_for(self._client, kinds):
                subject = f"{version}: clients have requested it since the server started"
                yield Finding(check="deprecated", subject=subject, ok=True)

    def _replicas(self, allowed: Iterable[Need]) -> Iterator[Finding]:
        if self._options.command == "doctor":
            replicas = replicas_of(self._options)
            for told in replicas.findings(self._client, (need.permission for need in allowed)):
                yield Finding(check=replicas.flag.lstrip("-"), subject=told, ok=True)

    def _summary(self, kinds: Mapping[Resource, list[Problem]], denied: int) -> str:
        names = " ".join(resource.group_resource for resource in self._custom)
        broken = any(problem.exit_code for found in kinds.values() for problem in found)
        total = len(self._needs)
        crds = f"  {'✗' if broken else '✓'} CRD {names}" if names else ""
        return f"✓ reachable{crds}  {'✗' if denied else '✓'} RBAC {total - denied}/{total}"

    def _kind_problems(self, resource: Resource) -> list[Problem]:
        discovery, name = self._client.discovery(), resource.group_resource
        served = discovery.resources(resource.group, resource.version)
        found = None if served is None else served.find(resource.plural)
        if served is None or found is None:
            if discovery.withholds(resource):
                differs = f"version {resource.version} with served: false"
                return [other_definition(name, differs, self._install_fixes(resource))]
            versions = discovery.versions(resource.group) if served is None else ()
            near = "" if versions else discovery.nearest(resource)
            stored = discovery.stored_versions(resource) if versions else ()
            command = self._operator.crd_command
            return [missing_resource(name, resource.version, versions, command, nearest=near, stored=stored)]
        if found.namespaced != resource.namespaced:
            scopes = ("Namespaced", "Cluster") if found.namespaced else ("Cluster", "Namespaced")
            differs = "scope {}; the controller's type has {}".format(*scopes)
            delete = f"kubectl delete crd {name}   (also deletes its objects)"
            return [
                other_definition(
                    name, differs, [delete, f"{self._operator.crd_command} | kubectl apply -f -"]
                )
            ]
        has_status = has_status_subresource(self._custom[resource])
        if has_status and "status" not in served.subresources(resource.plural):
            return [no_status_subresource(name, self._install_fixes(resource))]
        return self._storage_problems(self._custom[resource], found)

    def _storage_problems(self, kind: type[Kind], found: ServedResource) -> list[Problem]:
        storage = self._client.discovery().storage_version(kind.resource, found.storage_version_hash)
        if storage in ("", kind.resource.version) and self._options.command != "doctor":
            return []
        from handloop.controller.cli.storage_check import storage_problems  # noqa: PLC0415 - as above

        return [*storage_problems(self._client, kind, storage)]

    def _install_fixes(self, resource: Resource) -> list[str]:
        stored = self._client.discovery().stored_versions(resource)
        command = self._operator.crd_command
        return install_fixes(resource.group_resource, resource.version, stored, command)

    def _foreign_problems(self, resource: Resource) -> list[Problem]:
        discovery = self._client.discovery()
        served = discovery.resources(resource.group, resource.version)
        found = None if served is None else served.find(resource.plural)
        if served is None or found is None:
            named = (
                [one for one in served.resources if one.kind == resource.kind] if served is not None else []
            )
            versions = discovery.versions(resource.group) if served is None else ()
            near = "" if named or versions else discovery.nearest(resource)
            plural = next((one.name for one in named), "")
            return [missing_foreign(str(resource), resource.kind, plural, versions, near)]
        if found.namespaced != resource.namespaced:
            return [foreign_scope(str(resource), "Namespaced" if found.namespaced else "Cluster")]
        return []


def _kind_finding(check: str, resource: Resource, problems: Sequence[Problem]) -> Finding:
    ok = not any(problem.exit_code for problem in problems)
    code = problems[0].code if problems else ""
    return Finding(check=check, subject=str(resource), ok=ok, code=code)


def _conversion_finding(subject: str, *, ok: bool) -> Finding:
    return Finding(check="conversion", subject=subject, ok=ok, code="" if ok else "E19")


def _fit_finding(fit: Any) -> Finding:
    subject = f"{fit.resource} is not known: {fit.unknown}" if fit.unknown else str(fit.resource)
    return Finding(check="fit", subject=subject, ok=not fit.misfits, code="E20" if fit.misfits else "")


def _need_finding(need: Need, *, ok: bool) -> Finding:
    return Finding(check="permission", subject=f"{need.what} {need.scope}", ok=ok, code="" if ok else "E09")


def doctor(options: Options, stop: threading.Event, out: TextIO, *, seams: Seams = REAL_SEAMS) -> int:
    """
    Run all the checks that are made before a start, and print their findings.

    Returns: the exit code that `--preflight=exit` would give, which is that of the first check that failed.
    """
    report = _examine(options, stop, seams)
    out.write(writable(_json(report) if options.output == "json" else _table(report), out))
    return report.exit_code


def _examine(options: Options, stop: threading.Event, seams: Seams) -> Report:
    try:
        config = load_config(
            kubeconfig=options.kubeconfig, master=options.master, context=options.context, stop=stop
        )
        with closing(HTTPTransport(config, request_seconds=REQUEST_SECONDS, seams=seams)) as transport:
            client = Client(transport, user_agent=options.operator.user_agent, seams=seams, stop=stop)
            report = Preflight(client, config, options, seams).check(stop)
            if options.production and report.server_version:
                report = _with_production(report, client, options, seams, shown_server(config.host))
    except ConfigError as error:
        problem = config_problem(error, options.operator.command)
        finding = Finding(check="configuration", subject=problem.what, ok=False, code=problem.code)
        return Report(problems=(problem,), findings=(finding,))
    # Report which kubeconfig is used, and which context in it.
    shown = f"{config.source}, context {config.context_name}" if config.context_name else config.source
    return replace(
        report, findings=(Finding(check="configuration", subject=shown, ok=True), *report.findings)
    )


def _with_production(report: Report, client: Client, options: Options, seams: Seams, host: str) -> Report:
    from handloop.controller.cli.production_check import (  # noqa: PLC0415 - on request
        production_lines,
        production_problem,
    )

    try:
        lines = production_lines(client, options, seams.clock)
        problem = production_problem(lines)
    except ClientError as error:
        lines, problem = [], server_problem(error, host=host)
    found = [
        Finding(check="production", subject=line.subject, ok=line.ok, code="" if line.ok else "E22")
        for line in lines
    ]
    problems = (*report.problems, *([problem] if problem else []))
    return replace(report, problems=problems, findings=(*report.findings, *found))


def _table(report: Report) -> str:
    """Print one line for each check, then each problem in full."""
    rows = [printable(_row(finding)) for finding in report.findings]
    failed = sum(not finding.ok for finding in report.findings)
    counted = f"{failed} of {len(rows)} checks failed" if failed else f"all {len(rows)} checks passed"
    if any(finding.check == "permission" for finding in report.findings):
        counted += "\npermissions: only those that the set-up declares were checked (E09)"
    return "\n".join([*rows, "", counted, *(f"\n{problem}" for problem in report.problems)]) + "\n"


def _row(finding: Finding) -> str:
    mark = "✓" if finding.ok else "✗"
    return f"{mark} {finding.check:14} {finding.subject}{f'  {finding.code}' if finding.code else ''}"


def _json(report: Report) -> str:
    document = {
        "ok": report.exit_code == 0,
        "exitCode": report.exit_code,
        "serverVersion": report.server_version,
        "user": report.user,
        "checks": [
            {key: value for key, value in asdict(finding).items() if value != ""}
            for finding in report.findings
        ],
        "problems": [
            {
                "code": problem.code,
                "severity": problem.severity,
                "what": problem.what,
                "causes": problem.causes,
                "fixes": problem.fixes,
                "more": problem.more,
                "exitCode": problem.exit_code,
            }
            for problem in report.problems
        ],
    }
    text = json.dumps(document, indent=2, ensure_ascii=False)
    return "\n".join(map(printable, text.split("\n"))) + "\n"
