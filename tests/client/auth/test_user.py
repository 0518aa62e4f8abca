from __future__ import annotations

import base64
import json
import sys
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handloop.client.auth.credentials import TokenFile
from handloop.client.auth.kubeconfig import User
from handloop.client.auth.tls import KeyPair
from handloop.client.auth.user import (
    credentials_for,
    decode_base64,
    fetch_from_provider,
    impersonation_headers,
    key_pair_for,
)
from handloop.client.errors import ConfigError, ConfigProblem
from handloop.testing.fake_clock import FakeClock


def credentials(user: User, *, file: str = "", cluster: Any = None) -> Any:
    return credentials_for(
        user,
        "u",
        file=file,
        plugin_cluster=lambda: cluster or {},
        stop=threading.Event(),
        clock=FakeClock(),
    )


def test_a_token() -> None:
    """A token is a bearer token that never changes."""
    assert credentials(User(token="t")).authorization() == "Bearer t"


def test_a_password() -> None:
    """User name and password are basic authentication."""
    header = credentials(User(username="u", password="pä:ss")).authorization()
    assert base64.b64decode(header.removeprefix("Basic ")).decode() == "u:pä:ss"


def test_a_token_file_beats_a_token(tmp_path: Path) -> None:
    """With both, the file is read and re-read, and the token only bridges the time until it can be."""
    path = tmp_path / "token"
    found = credentials(User(token="initial", token_file=str(path)))
    assert isinstance(found, TokenFile)
    assert found.authorization() == "Bearer initial"
    path.write_text("file")
    assert found.authorization() == "Bearer file"


def test_a_token_that_does_not_fit_in_a_header() -> None:
    """A token with a newline is refused when it is read, and not shown."""
    with pytest.raises(ConfigError) as caught:
        credentials(User(token="canary\nX-Evil: 1"))
    assert caught.value.kind is ConfigProblem.CREDENTIALS
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    "user",
    [
        User(token="t", username="u"),
        User(token_file="f", password="p"),
        User(exec={"command": "c"}, auth_provider={"name": "oidc"}),
    ],
)
def test_two_ways_to_log_in_are_one_too_many(user: User) -> None:
    """A contradiction is refused, naming both fields."""
    with pytest.raises(ConfigError, match='user "u" has more than one way to log in') as caught:
        credentials(user)
    assert "," in caught.value.cause


@pytest.mark.parametrize(
    ("user", "sent"),
    [
        (User(token="t"), "Bearer t"),
        (User(username="u", password="p"), "Basic dTpw"),
        (User(client_certificate="/c", client_key="/k"), ""),
        (User(client_certificate_data="eA==", client_key_data="eA=="), ""),
    ],
)
def test_what_stands_in_the_file_goes_before_a_program(user: User, sent: str) -> None:
    """As in client-go: what `kubectl config set-credentials` added is meant, and the program is not run."""
    both = msgspec.structs.replace(user, exec={"command": "/no/such"})
    assert credentials(both).authorization() == sent


def test_an_auth_provider_is_asked_when_needed() -> None:
    """A provider is not asked before the first request."""
    token = id_token(4_000_000_000)
    provider = {"name": "oidc", "config": {"id-token": token}}
    assert credentials(User(auth_provider=provider)).authorization() == f"Bearer {token}"


def test_a_key_pair_from_data_and_files() -> None:
    """Each half may be data or a file."""
    data = base64.b64encode(b"CERT").decode()
    assert key_pair_for(User(client_certificate_data=data, client_key="/k"), "u") == KeyPair(
        b"CERT", b"", "", "/k"
    )
    files = KeyPair(b"", b"", "/c", "/k")
    assert key_pair_for(User(client_certificate="/c", client_key="/k"), "u") == files
    assert not key_pair_for(User(), "u")


@pytest.mark.parametrize(
    "user",
    [
        User(client_certificate="/c"),
        User(client_certificate="/c", client_certificate_data="eA==", client_key="/k"),
        User(client_certificate="/c", client_key="/k", client_key_data="eA=="),
        User(client_certificate_data="!", client_key="/k"),
        User(client_certificate_data="abc", client_key="/k"),
    ],
)
def test_half_a_key_pair_is_refused(user: User) -> None:
    """A certificate without its key, given twice, or not base64 names the user and the field."""
    with pytest.raises(ConfigError) as caught:
        key_pair_for(user, "u")
    assert caught.value.kind is ConfigProblem.CERTIFICATE
    assert '"u"' in caught.value.message
    assert caught.value.cause


def test_base64_may_be_folded() -> None:
    """Line breaks inside data are ignored, as by kubectl."""
    assert decode_base64("Q0\n VS VA==\n", "x") == b"CERT"
    assert decode_base64("", "x") == b""


def test_impersonation() -> None:
    """Every impersonation field has its header, groups and extras one each."""
    user = User(act_as="a", act_as_uid="1", act_as_groups=["g", "h"], act_as_extra={"scope": ["x", "y"]})
    assert impersonation_headers(user) == (
        ("Impersonate-User", "a"),
        ("Impersonate-Uid", "1"),
        ("Impersonate-Group", "g"),
        ("Impersonate-Group", "h"),
        ("Impersonate-Extra-scope", "x"),
        ("Impersonate-Extra-scope", "y"),
    )
    assert impersonation_headers(User()) == ()


def test_what_is_no_header_s_name_or_no_latin_1_is_sent_as_go_sends_it() -> None:
    """Keys of extras are percent-encoded, a value is its bytes in UTF-8."""
    user = User(act_as="Jürgen", act_as_extra={"example.com/scope": ["ł"], "a%b": ["c"], "ä": ["d"]})
    headers = impersonation_headers(user)
    assert [(name, value.encode("latin-1").decode()) for name, value in headers] == [
        ("Impersonate-User", "Jürgen"),
        ("Impersonate-Extra-example.com%2Fscope", "ł"),
        ("Impersonate-Extra-a%25b", "c"),
        ("Impersonate-Extra-%C3%A4", "d"),
    ]


@pytest.mark.parametrize(
    "user",
    [
        User(act_as="a\r\nX: y"),
        User(act_as_uid="a\n"),
        User(act_as="a", act_as_groups=["\0"]),
        User(act_as="a", act_as_extra={"k": ["\n"]}),
    ],
)
def test_what_no_header_takes_is_refused(user: User) -> None:
    """Before a request, with the user's name."""
    with pytest.raises(ConfigError, match='of user "ann" is not valid in a header'):
        impersonation_headers(user, "ann")


def test_nothing_secret_in_a_repr() -> None:
    """A user does not show its token."""
    assert "canary" not in repr(User(token="canary", password="canary"))


def id_token(expires: int) -> str:
    payload = base64.urlsafe_b64encode(json.dumps({"exp": expires}).encode()).decode().rstrip("=")
    return f"head.{payload}.sig"


def test_an_oidc_provider_s_token() -> None:
    """An auth provider of the kubernetes package gives its token, asked again every minute."""
    token = id_token(4_000_000_000)
    provider = {"name": "oidc", "config": {"id-token": token}}
    fetched = fetch_from_provider(provider, "", 1000.0)
    assert fetched.authorization == f"Bearer {token}"
    assert fetched.expires_at == 1060.0


def test_a_provider_without_the_package_of_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    """E06: the error names the package to install, and the way without it."""
    monkeypatch.setitem(sys.modules, "kubernetes.client", None)
    with pytest.raises(ConfigError) as caught:
        fetch_from_provider({"name": "gcp"}, "", 0.0)
    assert caught.value.message == 'auth provider "gcp" failed'
    assert "the kubernetes package, which has the auth providers, cannot be loaded" in caught.value.cause
    assert caught.value.fix.startswith("pip install kubernetes, or use an exec plugin")


@pytest.mark.parametrize(
    "provider", [{"name": "azure", "config": {}}, {"name": "oidc"}, {"name": "oidc", "config": {}}, {}]
)
def test_a_provider_that_gives_nothing(provider: dict[str, Any]) -> None:
    """E06: the error names a provider that is gone or broken."""
    with pytest.raises(ConfigError) as caught:
        fetch_from_provider(provider, "", 0.0)
    assert caught.value.kind is ConfigProblem.CREDENTIALS
    assert f'auth provider "{provider.get("name", "")}" failed' in caught.value.message
