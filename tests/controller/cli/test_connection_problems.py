"""Problems that keep the program from its server, in words: E01 to E06, E09; and the end of credentials."""

from __future__ import annotations

import base64
import json
import sys
import time
from pathlib import Path

import pytest

from handloop.apis.grammar.times import parse_time
from handloop.client.auth.credentials import FetchedCredentials, StaticCredentials
from handloop.client.auth.tls import KeyPair, TLSOptions
from handloop.client.config import ClientConfig
from handloop.client.errors import (
    ConfigError,
    ConfigProblem,
    ConnectionBroken,
    ConnectionRefused,
    DeadlineExceeded,
    DecodeError,
    InternalError,
    NameResolutionError,
    NotFound,
    ProxyError,
    TLSError,
    TLSProblem,
    TransportError,
    Unauthorized,
)
from handloop.client.errors.status import Status
from handloop.controller.cli import connection_problems
from handloop.controller.cli.connection_problems import certificate_end, expired_credentials, token_end
from support.servers.certificates import CertificateAuthority


def test_e02_without_a_fix_names_a_way_to_look() -> None:
    """A fault between entries of a kubeconfig, and one that has no cause beside itself."""
    problem = connection_problems.config_problem(ConfigError(ConfigProblem.MALFORMED, "m"), "greeter")
    assert (problem.what, problem.causes) == ("m", ())
    assert problem.fixes == ("kubectl config view   (what your files contain)",)


def test_e06_a_paragraph_becomes_a_line() -> None:
    """Install hints such as that of Azure's kubelogin have several lines; a fix has one."""
    hint = "\nkubelogin is not installed.\n\nTo learn more, please go to https://aka.ms/aks/kubelogin\n"
    error = ConfigError(
        ConfigProblem.EXEC_PLUGIN, "x failed", install_hint=hint, cause="a\n  b", fix="f  (g)"
    )
    problem = connection_problems.config_problem(error, "greeter")
    assert problem.causes == ("a b",)
    assert problem.fixes == (
        "kubelogin is not installed. To learn more, please go to https://aka.ms/aks/kubelogin",
        "f  (g)",
    )


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (ConnectionRefused("refused"), "nothing listens there"),
        (NameResolutionError("no address"), "the name does not resolve"),
        (DeadlineExceeded("no complete response"), "nothing answers: a firewall"),
        (ProxyError("proxy refused"), "the request goes through a proxy"),
        (ConnectionBroken("reset"), "the connection broke"),
    ],
)
def test_e04_gives_the_likely_cause(error: TransportError, cause: str) -> None:
    """What each way of not reaching a server usually means; containers matter for loopback alone."""
    problem = connection_problems.server_problem(error, host="https://10.0.0.1:1")
    assert cause in problem.causes[0]
    assert not [fix for fix in problem.fixes if "container" in fix]


@pytest.mark.parametrize("problem", TLSProblem)
def test_e05_gives_the_likely_cause(problem: TLSProblem) -> None:
    """One fact for every failure of TLS; the first part names the certificate."""
    found = connection_problems.server_problem(
        TLSError("certificate for x expired", problem=problem), host="https://x"
    )
    assert (found.code, found.exit_code, len(found.causes)) == ("E05", 4, 1)
    assert found.what == "certificate for x expired (https://x)"


@pytest.mark.parametrize(
    ("message", "known", "cause"),
    [
        ("Unauthorized", "token expired 3 h ago", "token expired 3 h ago"),
        ("Unauthorized", "", "the token has expired or was revoked"),
        ("", "", "the token has expired or was revoked"),
        ("the clock is wrong", "", "the clock is wrong"),
    ],
)
def test_e06_for_401(message: str, known: str, cause: str) -> None:
    """The known fault of our credentials comes first, then the server's own words beyond its standard one."""
    error = Unauthorized(Status(code=401, message=message))
    problem = connection_problems.server_problem(error, host="h", credentials=known)
    assert (problem.code, problem.exit_code) == ("E06", 3)
    assert problem.causes[0].startswith(cause)


@pytest.mark.parametrize(
    ("error", "what", "fix"),
    [
        (NotFound(Status(code=404)), "does not answer like a Kubernetes API server", "kubectl config view"),
        (DecodeError("<html>"), "does not answer like a Kubernetes API server", "kubectl config view"),
        (InternalError(Status(code=500)), "is not healthy", "kubectl get --raw /readyz?verbose"),
    ],
)
def test_e04_for_answers_that_make_no_sense(error: Exception, what: str, fix: str) -> None:
    """Something listens there and is no API server, or one in trouble."""
    problem = connection_problems.server_problem(error, host="h")
    assert (problem.code, problem.exit_code) == ("E04", 4)
    assert problem.what == f"h {what}"
    assert problem.fixes[0].startswith(fix)


NOW = 1_763_709_621.0


def jwt(**claims: object) -> str:
    """A bearer token with these claims; its signature is not checked here."""
    parts = [json.dumps(part).encode() for part in ({"alg": "RS256"}, claims)] + [b"signature"]
    return "Bearer " + ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


def with_token(authorization: str) -> ClientConfig:
    """A configuration with a token."""
    return ClientConfig(host="https://h", credentials=StaticCredentials(authorization))


@pytest.mark.parametrize(
    ("seconds", "age"), [(1, "1 s"), (119, "1 min"), (3 * 3600 + 5, "3 h"), (400 * 86_400, "400 d")]
)
def test_an_expired_token_shows_since_when(seconds: float, age: str) -> None:
    """The age is read from the token's own claim, in the greatest unit that fits."""
    assert expired_credentials(with_token(jwt(exp=NOW - seconds)), NOW) == f"token expired {age} ago"


@pytest.mark.parametrize(
    "authorization",
    [jwt(exp=NOW + 60), jwt(sub="x"), jwt(exp="soon"), "Bearer opaque", "Bearer a.b.c", "Bearer ä.é.û", ""],
)
def test_other_tokens_have_no_end(authorization: str) -> None:
    """A token that holds, has no end, or is no JWT is not the known reason."""
    assert expired_credentials(with_token(authorization), NOW) == ""


def test_missing_credentials_prove_nothing() -> None:
    """Another message is about those."""

    def fail() -> None:
        raise ConfigError(ConfigProblem.EXEC_PLUGIN, "no such program")

    credentials = FetchedCredentials("x", fail)  # type: ignore[arg-type] # it never returns
    assert expired_credentials(ClientConfig(host="https://h", credentials=credentials), NOW) == ""


def test_an_expired_client_certificate_shows_since_when(tmp_path: Path) -> None:
    """As PEM in the kubeconfig or as a file; the clock decides, not the certificate alone."""
    issued = CertificateAuthority(tmp_path).issue("alice", days=1)
    pem = issued.certificate.read_bytes()
    for pair in (KeyPair(certificate=pem), KeyPair(certificate_file=str(issued.certificate))):
        end = certificate_end(pair)
        assert end is not None
        assert 0 < end - time.time() <= 86_400
        config = ClientConfig(host="https://h", tls=TLSOptions(key_pair=pair))
        assert expired_credentials(config, end + 7200) == "client certificate expired 2 h ago"
        assert expired_credentials(config, end - 1) == ""


def test_without_the_package_a_certificate_has_no_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cryptography package is an extra; without it the message does without the certificate's age."""
    pem = CertificateAuthority(tmp_path).issue("alice", days=-1).certificate.read_bytes()
    monkeypatch.setitem(sys.modules, "cryptography", None)
    assert certificate_end(KeyPair(certificate=pem)) is None


@pytest.mark.parametrize(
    "pair",
    [
        KeyPair(),
        KeyPair(certificate=b"no PEM"),
        KeyPair(certificate_file="/nonexistent"),
        KeyPair(certificate_file="/dev/zero"),
        KeyPair(certificate=b"-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n"),
    ],
)
def test_what_is_no_certificate_has_no_end(pair: KeyPair) -> None:
    """A message about credentials does not fail on them."""
    assert certificate_end(pair) is None


def test_the_end_of_a_token_is_unix_time() -> None:
    """`exp` as RFC 7519 has it, with fractions allowed."""
    assert token_end(jwt(exp=1.5)) == 1.5
    assert token_end(jwt(exp=int(parse_time("2025-01-01T00:00:00Z")))) == 1_735_689_600
