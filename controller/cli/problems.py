"""
Messages for common problems: what happened, the cause, and what to type next.

Every problem has a code (E01 to E22), an exit code and a section in errors.md, which `handloop errors`
prints. E01 to E06 are in connection_problems.py, E09 in permissions.py, E11 and E12 in standby.py, E15 in
program.py, E21 in storage_check.py, and E22 in production_check.py. E14 belongs to the Foo
controller, and E18 to the status writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from handloop.controller.cli.terminal import printable
from handloop.controller.cli.values import format_duration
from handloop.controller.runtime.serving.listening import ListenError, NoCertificateError, PortInUseError

EXIT_OK: Final = 0
EXIT_FATAL: Final = 1
EXIT_USAGE: Final = 2
EXIT_CONFIG: Final = 3
EXIT_UNREACHABLE: Final = 4
EXIT_FORBIDDEN: Final = 5
EXIT_NO_CRD: Final = 6
EXIT_PORT: Final = 7

OLDEST: Final = (1, 28)
NEWEST: Final = (1, 36)
_TESTED: Final = "{}.{}-{}.{}".format(*OLDEST, *NEWEST)
_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)")
_MOST_CAUSES: Final = 10
# The first Kubernetes version in which a feature is on by default, the feature, and its replacement before
# that.
_FEATURES: Final = (
    ((1, 32), "streamed lists (it lists in pages)"),
    ((1, 29), "stable CEL rules in CRDs (invalid objects may be stored)"),
    ((1, 28), "the user name that the server reports (the banner shows the kubeconfig's user)"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A problem with its causes and fixes. str() formats it for a terminal."""

    code: str
    exit_code: int
    what: str
    causes: tuple[str, ...] = ()
    fixes: tuple[str, ...] = ()
    severity: str = "error"

    def __str__(self) -> str:
        lines = [f"{self.severity}: {self.what}"]
        lines += [f"  cause: {cause}" for cause in self.causes]
        lines += [f"  fix: {fix}" for fix in self.fixes]
        lines.append(f"  more: {self.more}")
        # A text from a server or a lease must not be able to imitate one of our lines.
        return "\n".join(map(printable, lines))

    @property
    def more(self) -> str:
        """The command that explains the problem."""
        return f"handloop errors {self.code}"

    def facts(self) -> dict[str, str]:
        """Return the problem's fields as key-value pairs for a log line whose message is `what`."""
        pairs = {"code": self.code, "cause": "; ".join(self.causes), "fix": "; ".join(self.fixes)}
        return {key: value for key, value in pairs.items() if value}


def install_fixes(group_resource: str, version: str, stored: Sequence[str], crd_command: str) -> list[str]:
    """
    Return the steps that install the CRD that crd_command prints.

    Args: version is the only version in this CRD. stored are the versions in the storedVersions of the CRD in
    the cluster; the server refuses a CRD that lacks one of them.
    """
    install = f"{crd_command} | kubectl apply -f -"
    others = [one for one in stored if one != version]
    if not others:
        return [install]
    plural, _, group = group_resource.partition(".")
    migrated = f'{{"status":{{"storedVersions":["{version}"]}}}}'
    both = (
        f"serve both versions until the objects are migrated: kubectl edit crd {group_resource}, and add the "
        f"version {version} that `{crd_command}` prints to spec.versions, with storage: true; "
        f"{', '.join(others)} stays, with storage: false   (conversion by strategy None drops a field that "
        "was renamed: such a kind needs a conversion webhook)"
    )
    return [
        both,
        f"migrate them: kubectl get {plural}.{version}.{group} -A -o json | kubectl replace -f -",
        f"kubectl patch crd {group_resource} --subresource=status --type=merge -p '{migrated}'",
        f"{install}   (the server refuses this before the migration)",
    ]


def missing_resource(
    group_resource: str,
    version: str,
    served: tuple[str, ...],
    crd_command: str,
    *,
    nearest: str = "",
    stored: Sequence[str] = (),
) -> Problem:
    """
    Return the problem E07 (the CRD is not installed) or E08 (it serves other versions).

    Args: crd_command prints our CRD. nearest is a similar resource that the server has, or "". stored are the
    versions in which objects may be stored, or () if they are unknown.
    """
    install = f"{crd_command} | kubectl apply -f -"
    if served:
        return Problem(
            code="E08",
            exit_code=EXIT_NO_CRD,
            what=f"the CRD {group_resource} serves {', '.join(served)}; the controller needs {version}",
            causes=("the CRD in the cluster belongs to another release",),
            fixes=tuple(install_fixes(group_resource, version, stored or served, crd_command)),
        )
    group, _, _ = group_resource.partition(".")
    meant = (f"did you mean {nearest}? if so, the type has the wrong group",) if nearest else ()
    return Problem(
        code="E07",
        exit_code=EXIT_NO_CRD,
        what=f"the server has no resource {group_resource}/{version}",
        causes=(f"the CRD for {group} is not installed",),
        fixes=(*meant, install + "   (the controller starts by itself when the CRD appears)"),
    )


def missing_foreign(
    resource: str, kind: str, plural: str, versions: tuple[str, ...] = (), nearest: str = ""
) -> Problem:
    """
    Return the problem E07: another program's CRD is not installed, or has another plural or other versions
    than our type.

    Args: resource is `plural.group/version`. plural is the server's plural for that kind, and nearest is a
    served resource with a similar name; both may be "".
    """
    cause = f"the program that defines {kind} is not installed yet"
    fixes = ["install it   (the controller continues by itself when the kind appears)"]
    if plural:
        cause = f"the server calls {kind} {plural}"
        fixes = [f'set plural="{plural}" where the program declares the kind']
    elif versions:
        cause = f"its group serves {', '.join(versions)}"
        fixes = ["name a version that is served"]
    elif nearest:
        fixes = [f"did you mean {nearest}?", *fixes]
    return Problem(
        code="E07",
        exit_code=EXIT_NO_CRD,
        what=f"the server has no resource {resource}",
        causes=(cause,),
        fixes=tuple(fixes),
    )


def foreign_scope(resource: str, scope: str) -> Problem:
    """
    Return the problem E08: another program's kind and our type have different scopes.

    Args: scope is the scope on the server.
    """
    return Problem(
        code="E08",
        exit_code=EXIT_NO_CRD,
        what=f"the server's {resource} has the scope {scope}, but the program's type has another scope",
        causes=("a type without an explicit scope is Namespaced",),
        fixes=(f'set scope="{scope}" where the program declares the kind',),
    )


def other_definition(group_resource: str, differs: str, fixes: Sequence[str]) -> Problem:
    """Return the problem E08: the CRD exists, but differs so much from our type that no request works."""
    return Problem(
        code="E08",
        exit_code=EXIT_NO_CRD,
        what=f"the CRD {group_resource} has {differs}",
        causes=("it belongs to another release, or somebody has changed it",),
        fixes=tuple(fixes),
    )


def no_status_subresource(group_resource: str, fixes: Sequence[str]) -> Problem:
    """Return the problem E08: the CRD has no status subresource, as in sample-controller's plain crd.yaml."""
    return Problem(
        code="E08",
        exit_code=EXIT_OK,
        severity="warning",
        what=f"the CRD {group_resource} lacks subresources.status",
        causes=(
            "the status is written with the whole object; the server drops it if the schema has no status",
        ),
        fixes=tuple(fixes),
    )


_LISTENERS: Final = {
    "metrics": ("--metrics-bind-address={host}:9090", "--metrics-bind-address=0 to turn it off"),
    "health": ("--health-probe-bind-address={host}:9091", "--health-probe-bind-address=0 to turn it off"),
    "conversion": (
        "--webhook-bind-address={host}:9444",
        "with the same port in --webhook-url or the Service",
    ),
    "the live page": ("--debug-listen={host}:9092", "--debug-listen=0 to turn it off"),
    "the sandbox": ("--sandbox-port=7443", "--sandbox-port=0 for a free one"),
}
_WITHOUT_CERTIFICATE: Final = {
    "metrics": "--metrics-cert-dir with tls.crt and tls.key, or --metrics-auth=false for plain HTTP",
    "conversion": "--webhook-cert-dir with tls.crt and tls.key, or remove this flag to generate certificates",
}


def port_in_use(error: ListenError) -> Problem:
    """Return the problem E10: another process uses the port, or this process cannot listen there."""
    if isinstance(error, NoCertificateError):
        return Problem(
            code="E10",
            exit_code=EXIT_PORT,
            what=f"cannot listen on {error.address} for {error.purpose} over TLS",
            causes=(error.reason,),
            fixes=(_WITHOUT_CERTIFICATE[error.purpose],),
        )
    another, none = _LISTENERS[error.purpose]
    cause, host = error.reason, "127.0.0.1"
    if isinstance(error, PortInUseError):
        # The fix must not listen on more addresses than were requested.
        host = error.address.rpartition(":")[0]
        cause = f"in use by {error.owner}" if error.owner else "another process listens there"
    return Problem(
        code="E10",
        exit_code=EXIT_PORT,
        what=f"cannot listen on {error.address} for {error.purpose}",
        causes=(cause,),
        fixes=(f"{another.format(host=host)} for another port, {none}",),
    )


def stop_took_too_long(left: BaseException, shutdown_timeout: float) -> Problem:
    """
    Return the problem E16: work was still running when the shutdown timeout expired.

    Args: left is an error whose message says what was still running.
    """
    now = format_duration(shutdown_timeout)
    return Problem(
        code="E16",
        exit_code=EXIT_FATAL,
        what=f"the shutdown left work behind: {left}",
        causes=("a request got no answer in time, or a reconcile waits for something else",),
        fixes=(f"raise --shutdown-timeout (now {now}), and keep terminationGracePeriodSeconds 10s above it",),
    )


def cannot_share(error: BaseException) -> Problem:
    """
    Return the problem E17: replicas cannot share the work as requested.

    Args: the error's message contains the reason and the fix.
    """
    return Problem(code="E17", exit_code=EXIT_CONFIG, what=f"the work is not shared: {error}")


def not_converted(group_resource: str, problem: str) -> Problem:
    """
    Return the problem E19: the server cannot convert objects.

    Args: problem is the server's message, or an error in the definition.
    """
    return Problem(
        code="E19",
        exit_code=EXIT_FATAL,
        what=f"{group_resource} is not converted between its versions: {problem}",
        causes=(
            "no replica that converts is ready",
            "the definition names another server, or has no caBundle",
        ),
        fixes=("start the program; if the definition does not change, the log of its leader says why",),
    )


def misfit(resource: str, differs: Sequence[str], fixes: Iterable[str]) -> Problem:
    """
    Return the problem E20: a kind's definition on the server does not fit the program's type.

    Args: differs has one text for each difference.
    """
    more = [f"and {len(differs) - _MOST_CAUSES} more differences"] if len(differs) > _MOST_CAUSES else []
    return Problem(
        code="E20",
        exit_code=EXIT_NO_CRD,
        severity="warning",
        what=f"the definition of {resource} in the cluster does not fit the program's type",
        causes=(*differs[:_MOST_CAUSES], *more),
        fixes=tuple(fixes),
    )


def version_skew(server_version: str) -> Problem | None:
    """
    Return the problem E13 if the server's version is outside the tested range.

    Args: server_version is a string such as `v1.31.4`.
    Returns: None if the version is in the range, or is unknown.
    """
    match = _VERSION.match(server_version)
    if match is None:
        return None
    version = (int(match[1]), int(match[2]))
    if OLDEST <= version <= NEWEST:
        return None
    age = "older" if version < OLDEST else "newer"
    lost = [text for since, text in _FEATURES if version < since]
    return Problem(
        code="E13",
        exit_code=EXIT_OK,
        severity="warning",
        what=f"server {server_version} is {age} than the tested range {_TESTED}",
        causes=(
            f"the program continues without {'; '.join(lost)}"
            if lost
            else "the program continues; no missing feature is known",
        ),
        fixes=("kubectl version   (the server's version)",),
    )
