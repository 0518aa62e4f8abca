"""What credentials say about their own end."""

from __future__ import annotations

import base64
import json
import sys
import time
from pathlib import Path

import pytest

from handloop.apis.time import parse_time
from handloop.client.auth.credentials import FetchedCredentials, StaticCredentials
from handloop.client.auth.tls import KeyPair, TLSOptions
from handloop.client.config import ClientConfig
from handloop.client.errors import ConfigError, ConfigProblem
from handloop.controller.cli.expiry import certificate_end, expired_credentials, token_end
from support.certificates import CertificateAuthority

NOW = 1_763_709_621.0


def jwt(**claims: object) -> str:
    """A bearer token with these claims; nobody checks its signature here."""
    parts = [json.dumps(part).encode() for part in ({"alg": "RS256"}, claims)] + [b"signature"]
    return "Bearer " + ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


def with_token(authorization: str) -> ClientConfig:
    """A configuration with a token."""
    return ClientConfig(host="https://h", credentials=StaticCredentials(authorization))


@pytest.mark.parametrize(
    ("seconds", "age"), [(1, "1 s"), (119, "1 min"), (3 * 3600 + 5, "3 h"), (400 * 86_400, "400 d")]
)
def test_an_expired_token_says_since_when(seconds: float, age: str) -> None:
    """The age is read from the token's own claim, in the greatest unit that fits."""
    assert expired_credentials(with_token(jwt(exp=NOW - seconds)), NOW) == f"token expired {age} ago"


@pytest.mark.parametrize(
    "authorization",
    [jwt(exp=NOW + 60), jwt(sub="x"), jwt(exp="soon"), "Bearer opaque", "Bearer a.b.c", "Bearer ä.é.û", ""],
)
def test_other_tokens_say_nothing(authorization: str) -> None:
    """A token that holds, has no end, or is no JWT is not the known reason."""
    assert expired_credentials(with_token(authorization), NOW) == ""


def test_no_part_of_a_token_comes_out() -> None:
    """The message holds an age and nothing else."""
    token = jwt(exp=NOW - 60, sub="canary")
    said = expired_credentials(with_token(token), NOW)
    assert not any(part in said for part in (*token.removeprefix("Bearer ").split("."), "canary"))


def test_credentials_that_cannot_be_had_say_nothing() -> None:
    """Another message tells of those."""

    def fail() -> None:
        raise ConfigError(ConfigProblem.EXEC_PLUGIN, "no such program")

    credentials = FetchedCredentials("x", fail)  # type: ignore[arg-type] # it never returns
    assert expired_credentials(ClientConfig(host="https://h", credentials=credentials), NOW) == ""


def test_an_expired_client_certificate_says_since_when(tmp_path: Path) -> None:
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


def test_without_the_package_a_certificate_says_nothing(
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
