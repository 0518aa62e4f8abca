"""
Messages for a program that cannot reach the API server: E01 to E06, and E09 if every answer is a 403.

A message gives the age of expired credentials, but never shows any part of them.
"""

from __future__ import annotations

import base64
import ssl
from typing import Final

import msgspec

from handloop.apis.decoders import decoder_of
from handloop.apis.grammar.times import parse_time
from handloop.client.auth.bounded_file import read_file
from handloop.client.auth.tls import KeyPair
from handloop.client.config import ClientConfig
from handloop.client.errors import (
    APIError,
    ConfigError,
    ConfigProblem,
    ConnectionRefused,
    CredentialsError,
    DeadlineExceeded,
    Forbidden,
    NameResolutionError,
    ProxyError,
    TLSError,
    TLSProblem,
    TransportError,
    Unauthorized,
)
from handloop.client.http.certificate import parse_certificate
from handloop.controller.cli.problems import EXIT_CONFIG, EXIT_FORBIDDEN, EXIT_UNREACHABLE, Problem


def config_problem(error: ConfigError, command: str) -> Problem:
    """Return E01, E02, E03 or E06 for an unusable configuration. Args: command starts this program."""
    if error.kind is ConfigProblem.NOT_FOUND:
        return _no_configuration(error, command)
    builders = {
        ConfigProblem.CONTEXT: _no_context,
        ConfigProblem.EXEC_PLUGIN: _no_credentials,
        ConfigProblem.CREDENTIALS: _no_credentials,
    }
    return builders.get(error.kind, _bad_kubeconfig)(error)


def _no_configuration(error: ConfigError, command: str) -> Problem:
    return Problem(
        code="E01",
        exit_code=EXIT_CONFIG,
        what="no cluster configuration found",
        causes=(error.cause,),
        fixes=(f"{command} --sandbox   (no cluster needed)", f"{command} --kubeconfig PATH"),
    )


def _bad_kubeconfig(error: ConfigError) -> Problem:
    unreadable = error.kind is ConfigProblem.UNREADABLE and error.message.startswith("kubeconfig ")
    cause = "the file does not exist, is empty, or cannot be read" if unreadable else error.cause
    return Problem(
        code="E02",
        exit_code=EXIT_CONFIG,
        what=str(error) if unreadable else error.message,
        causes=(cause,) if cause else (),
        fixes=(error.fix or "kubectl config view   (what your files contain)",),
    )


def _no_context(error: ConfigError) -> Problem:
    have = ", ".join(error.available) or "none"
    return Problem(
        code="E03",
        exit_code=EXIT_CONFIG,
        what=error.message.partition("; have: ")[0],
        causes=(f"the kubeconfig has these contexts: {have}",),
        fixes=tuple(dict.fromkeys((error.fix, "kubectl config get-contexts"))),
    )


def _one_line(words: str) -> str:
    """Join the lines of a text, because an exec plugin's output or a kubeconfig's hint may be a paragraph."""
    return " ".join(words.split()) if "\n" in words else words


def _no_credentials(error: ConfigError) -> Problem:
    fixes = [text for text in dict.fromkeys(map(_one_line, (error.install_hint, error.fix))) if text]
    asked = "the kubeconfig names this program as the source of the user's credentials"
    cause = _one_line(error.cause) or (asked if error.kind is ConfigProblem.EXEC_PLUGIN else "")
    return Problem(
        code="E06",
        exit_code=EXIT_CONFIG,
        what=error.message,
        causes=(cause,) if cause else (),
        fixes=tuple(fixes) or ("log in again with your provider's tool, then: kubectl auth whoami",),
    )


def server_problem(error: Exception, *, host: str, effort: str = "", credentials: str = "") -> Problem:
    """
    Return the problem behind a failed request: E04, E05, E06 or E09.

    Args: effort says how many times the request was tried; credentials says what is known to be wrong with
    the program's credentials, such as their expiry.
    """
    if isinstance(error, CredentialsError):
        # The command is only used if no configuration was found, and here one was.
        return config_problem(error.problem, "")
    if isinstance(error, TLSError):
        return _tls(error, host)
    if isinstance(error, Unauthorized):
        return _unauthorized(error, credentials)
    if isinstance(error, Forbidden):
        return _forbidden(error)
    if isinstance(error, TransportError):
        return _unreachable(error, host, effort)
    return _unexpected_answer(error, host, effort)


_CAUSES: Final[tuple[tuple[type[TransportError], str], ...]] = (
    (ConnectionRefused, "nothing listens there: the cluster is not running, or it uses another port"),
    (NameResolutionError, "the name does not resolve: it is misspelt, or a DNS server or VPN is off"),
    (DeadlineExceeded, "nothing answers: a firewall is in the way, or a VPN is off"),
    (ProxyError, "the request goes through a proxy, which the kubeconfig or $HTTPS_PROXY names"),
)
_INSIDE: Final = "in a container 127.0.0.1 is the container itself: use the host's address"


def _unreachable(error: TransportError, host: str, effort: str) -> Problem:
    cause = next((text for kind, text in _CAUSES if isinstance(error, kind)), "the connection broke")
    local = isinstance(error, ConnectionRefused) and ("127.0.0.1" in host or "localhost" in host)
    return Problem(
        code="E04",
        exit_code=EXIT_UNREACHABLE,
        what=f"cannot reach {host}: {error.reason}{effort}",
        causes=(cause,),
        fixes=("kubectl cluster-info   (is the cluster running?)", *((_INSIDE,) if local else ())),
    )


_TLS_CAUSES: Final = {
    TLSProblem.UNTRUSTED: (
        "the kubeconfig's CA belongs to another cluster, or to this one before it was recreated"
    ),
    TLSProblem.HOSTNAME: "the address in the kubeconfig is not among the names in the certificate",
    TLSProblem.EXPIRED: "the cluster's certificate was not renewed in time",
    TLSProblem.NOT_YET_VALID: "the clock of this machine or of the cluster is wrong",
    TLSProblem.CLIENT_CERTIFICATE: "the client certificate belongs to another cluster, or has expired",
}


def _tls(error: TLSError, host: str) -> Problem:
    causes = [_TLS_CAUSES.get(error.problem, "the program that listens there is not an API server")]
    if error.names:
        causes.append(f"names in the certificate: {', '.join(error.names)}")
    return Problem(
        code="E05",
        exit_code=EXIT_UNREACHABLE,
        what=f"{error.reason} ({host})",
        causes=tuple(causes),
        fixes=(
            "kubectl config view --minify   (a stale or wrong cluster in the kubeconfig?)",
            "fetch this cluster's kubeconfig again",
        ),
    )


def _unauthorized(error: APIError, credentials: str) -> Problem:
    unknown = "the token has expired or was revoked, or the client certificate belongs to another cluster"
    said = error.status.message
    return Problem(
        code="E06",
        exit_code=EXIT_CONFIG,
        what="the API server did not accept your credentials (401)",
        causes=(credentials or (said if said not in ("", "Unauthorized") else unknown),),
        fixes=("log in again with your provider's tool, then: kubectl auth whoami",),
    )


def _forbidden(error: APIError) -> Problem:
    return Problem(
        code="E09",
        exit_code=EXIT_FORBIDDEN,
        what="the API server refuses to report what the program is allowed to do (403)",
        causes=(error.status.message,),
        fixes=("kubectl auth whoami   (are these the credentials you meant?)",),
    )


def _unexpected_answer(error: Exception, host: str, effort: str) -> Problem:
    """Return E04: a server answers, but not as a healthy API server would."""
    failing = isinstance(error, APIError) and error.code >= 500  # noqa: PLR2004 - the server's own failures
    what = "is not healthy" if failing else "does not answer like a Kubernetes API server"
    return Problem(
        code="E04",
        exit_code=EXIT_UNREACHABLE,
        what=f"{host} {what}{effort}",
        causes=(str(error),),
        fixes=(
            "kubectl get --raw /readyz?verbose"
            if failing
            else "kubectl config view --minify   (is this the right address and port?)",
        ),
    )


_JWT_PARTS: Final = 3
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_END: Final = b"-----END CERTIFICATE-----"


class _Claims(msgspec.Struct):
    exp: float


def expired_credentials(config: ClientConfig, now: float) -> str:
    """
    Return what has expired, such as `token expired 3 h ago` or `client certificate expired 12 d ago`.

    Returns "" if neither the token nor the certificate is known to have expired. Args: now is in Unix
    seconds.
    """
    try:
        authorization = config.credentials.authorization()
        pair = config.credentials.key_pair() or config.tls.key_pair
    except ConfigError:
        return ""
    ends = (("token", token_end(authorization)), ("client certificate", certificate_end(pair)))
    return next(
        (f"{what} expired {_age(now - at)} ago" for what, at in ends if at is not None and at < now), ""
    )


def token_end(authorization: str) -> float | None:
    """Return when a bearer token expires, in Unix seconds, or None if the token contains no expiry."""
    parts = authorization.removeprefix("Bearer ").split(".")
    if len(parts) != _JWT_PARTS:
        return None
    try:
        claims = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        return decoder_of(_Claims).decode(claims).exp
    except (ValueError, msgspec.DecodeError):
        return None


def certificate_end(pair: KeyPair) -> float | None:
    """Return when the client certificate expires, in Unix seconds, or None if it is missing or unreadable."""
    try:
        pem = pair.certificate or (read_file(pair.certificate_file) if pair.certificate_file else b"")
        first, end, _ = pem.partition(_END)
        der = ssl.PEM_cert_to_DER_cert((first[first.find(b"-----BEGIN") :] + end).decode("ascii"))
        return parse_time(parse_certificate(der).not_after)
    except (OSError, ValueError):
        return None


def _age(seconds: float) -> str:
    size, unit = next((one for one in _UNITS if seconds >= one[0]), _UNITS[-1])
    return f"{int(seconds // size)} {unit}"
