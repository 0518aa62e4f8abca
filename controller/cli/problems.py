"""
What goes wrong for newcomers, in words: what happened, the one fact behind it, and what to type next.

Every problem has a code (E01 to E15), an exit code and a section in docs/errors.md.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Final

from client.errors import (
    APIError,
    ConfigError,
    ConfigProblem,
    ConnectionRefused,
    CredentialsError,
    TLSError,
    TransportError,
    Unauthorized,
)
from controller.runtime.health import PortInUseError

EXIT_OK: Final = 0
EXIT_FATAL: Final = 1
EXIT_USAGE: Final = 2
EXIT_CONFIG: Final = 3
EXIT_UNREACHABLE: Final = 4
EXIT_FORBIDDEN: Final = 5
EXIT_NO_CRD: Final = 6
EXIT_PORT: Final = 7

DOCS: Final = "docs/errors.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong, ready to print."""

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
        lines.append(f"  more: {DOCS}#{self.code.lower()}")
        return "\n".join(lines)


def config_problem(error: ConfigError) -> Problem:
    """E01, E02, E03, or E06 for a kubeconfig that cannot be used."""
    builders = {
        ConfigProblem.NOT_FOUND: _no_configuration,
        ConfigProblem.CONTEXT: _no_context,
        ConfigProblem.EXEC_PLUGIN: _no_credentials,
        ConfigProblem.CREDENTIALS: _no_credentials,
    }
    return builders.get(error.kind, _bad_kubeconfig)(error)


def _no_configuration(error: ConfigError) -> Problem:
    looked = ", ".join(f"{place} ({found})" for place, found in error.looked_in)
    return Problem(
        code="E01",
        exit_code=EXIT_CONFIG,
        what="no cluster configuration found",
        causes=(f"looked in: {looked}",),
        fixes=(
            "python -m controller --sandbox   (no cluster needed)",
            "python -m controller --kubeconfig PATH",
        ),
    )


def _bad_kubeconfig(error: ConfigError) -> Problem:
    where = f"kubeconfig {error.path}: " if error.path and error.path not in error.message else ""
    causes = [f"line {error.line}: {error.cause}" if error.line else error.cause] if error.cause else []
    fixes = [error.fix] if error.fix else []
    if error.path.startswith("~"):
        fixes.append(f"the shell did not expand ~: write $HOME{error.path[1:]}")
    if ":" in error.path:
        fixes.append(f"--kubeconfig takes one file; for a list: export KUBECONFIG={error.path}")
    if not fixes:
        fixes.append("kubectl config view   (what your files say)")
    return Problem(
        code="E02",
        exit_code=EXIT_CONFIG,
        what=where + error.message,
        causes=tuple(causes),
        fixes=tuple(fixes),
    )


def _no_context(error: ConfigError) -> Problem:
    wanted = error.message.split('"')[1] if error.message.count('"') >= 2 else ""  # noqa: PLR2004 - a pair
    near = difflib.get_close_matches(wanted, error.available, n=1, cutoff=0.4) if wanted else []
    have = ", ".join(error.available) or "none"
    fixes = [f"did you mean {near[0]}? --context {near[0]}"] if near else []
    return Problem(
        code="E03",
        exit_code=EXIT_CONFIG,
        what=error.message,
        causes=(f"contexts there are: {have}",),
        fixes=(*fixes, "kubectl config get-contexts"),
    )


def _no_credentials(error: ConfigError) -> Problem:
    fixes = [error.install_hint] if error.install_hint else []
    if error.fix:
        fixes.append(error.fix)
    return Problem(
        code="E06",
        exit_code=EXIT_CONFIG,
        what=error.message,
        causes=(error.cause,) if error.cause else (),
        fixes=tuple(fixes) or ("log in again with your provider's tool, then: kubectl auth whoami",),
    )


def server_problem(error: Exception, *, host: str) -> Problem | None:
    """E04, E05 or E06 for a server that cannot be talked to; None when it answered something else."""
    if isinstance(error, CredentialsError):
        return config_problem(error.problem)
    if isinstance(error, TLSError):
        return _tls(error, host)
    if isinstance(error, Unauthorized):
        return _unauthorized(error)
    if isinstance(error, TransportError):
        return _unreachable(error, host)
    return None


def _unreachable(error: TransportError, host: str) -> Problem:
    hints = ["is the cluster running? kubectl cluster-info"]
    if isinstance(error, ConnectionRefused) and ("127.0.0.1" in host or "localhost" in host):
        hints.append("inside a container 127.0.0.1 is the container itself: use the host's address")
    return Problem(
        code="E04",
        exit_code=EXIT_UNREACHABLE,
        what=f"cannot reach {host}",
        causes=(error.reason,),
        fixes=tuple(hints),
    )


def _tls(error: TLSError, host: str) -> Problem:
    causes = [error.reason]
    if error.names:
        causes.append(f"names in the certificate: {', '.join(error.names)}")
    return Problem(
        code="E05",
        exit_code=EXIT_UNREACHABLE,
        what=f"the certificate of {host} was not accepted",
        causes=tuple(causes),
        fixes=(
            "a stale or wrong cluster in the kubeconfig? kubectl config view --minify",
            "fetch the kubeconfig of this cluster again from where you got it",
        ),
    )


def _unauthorized(error: APIError) -> Problem:
    return Problem(
        code="E06",
        exit_code=EXIT_CONFIG,
        what="the API server did not accept your credentials (401)",
        causes=(error.status.message or "token expired, or a certificate of another cluster",),
        fixes=("log in again with your provider's tool, then: kubectl auth whoami",),
    )


def missing_resource(group_resource: str, version: str, served: tuple[str, ...]) -> Problem:
    """E07 when the CRD is not there at all, E08 when it serves other versions."""
    fix = "python -m controller manifests crd | kubectl apply -f -"
    if served:
        return Problem(
            code="E08",
            exit_code=EXIT_NO_CRD,
            what=f"the CRD {group_resource} serves {', '.join(served)}; the controller needs {version}",
            causes=("the CRD in the cluster is of another release",),
            fixes=(fix,),
        )
    group, _, _ = group_resource.partition(".")
    return Problem(
        code="E07",
        exit_code=EXIT_NO_CRD,
        what=f"the server has no resource {group_resource}/{version}",
        causes=(f"the CRD for {group} is not installed",),
        fixes=(fix + "   (the controller goes on by itself when it appears)",),
    )


def no_status_subresource(group_resource: str) -> Problem:
    """E08 for a CRD without the status subresource: sample-controller's plain crd.yaml."""
    return Problem(
        code="E08",
        exit_code=EXIT_OK,
        severity="warning",
        what=f"the CRD {group_resource} lacks subresources.status",
        causes=("status is written through the object itself, and is lost if the schema has no status",),
        fixes=("python -m controller manifests crd | kubectl apply -f -",),
    )


def missing_permissions(user: str, denied: tuple[str, ...], total: int, scope: str) -> Problem:
    """E09: everything that is not allowed, at once."""
    fixes = ["python -m controller manifests rbac | kubectl apply -f -"]
    if user.startswith("system:serviceaccount:"):
        _, _, namespace, name = user.split(":", 3)
        binding = "--clusterrole=handloop --serviceaccount=" + f"{namespace}:{name}"
        fixes.append(f"kubectl create clusterrolebinding handloop {binding}")
        if name == "default":
            fixes.append("the ServiceAccount is `default`: does the Deployment lack serviceAccountName?")
    return Problem(
        code="E09",
        exit_code=EXIT_FORBIDDEN,
        what=f'"{user}" may not do everything the controller needs {scope}',
        causes=(f"missing {len(denied)} of {total} permissions: {', '.join(denied)}",),
        fixes=tuple(fixes),
    )


def port_in_use(error: PortInUseError) -> Problem:
    """E10: another process listens there."""
    flag = "--metrics-bind-address" if error.purpose == "metrics" else "--health-probe-bind-address"
    owner = f"in use by {error.owner}" if error.owner else "another process listens there"
    return Problem(
        code="E10",
        exit_code=EXIT_PORT,
        what=f"cannot listen on {error.address} for {error.purpose}",
        causes=(owner,),
        fixes=(f"{flag}=:9090 for another port, {flag}=0 to turn it off",),
    )


def nothing_to_do(kind: str, namespace: str) -> Problem:
    """E15: it runs and there is no object to work on."""
    where = f'in namespace "{namespace}"' if namespace else "in any namespace"
    fixes = ["kubectl apply -f manifests/samples/foo.yaml"]
    if namespace:
        fixes.insert(0, "watch all namespaces: leave out -n, or say -A")
    return Problem(
        code="E15",
        exit_code=EXIT_OK,
        severity="info",
        what=f"no {kind} {where}",
        causes=("the controller is running and has nothing to do",),
        fixes=tuple(fixes),
    )


def unexpected_answer(error: Exception, *, host: str) -> Problem:
    """E04 for something that answers, but not as an API server does."""
    return Problem(
        code="E04",
        exit_code=EXIT_UNREACHABLE,
        what=f"{host} does not answer like a Kubernetes API server",
        causes=(str(error),),
        fixes=("is this the right address and port? kubectl config view --minify",),
    )
