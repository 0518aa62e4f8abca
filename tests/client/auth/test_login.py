from __future__ import annotations

import base64
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from handloop.client.auth.login import fetch_from_plugin, fetch_from_provider
from handloop.client.errors import ConfigError, ConfigProblem
from handloop.client.http.tls import KeyPair

VERSION = "client.authentication.k8s.io/v1"


def plugin(folder: Path, body: str, name: str = "plugin") -> dict[str, Any]:
    """An exec section for a shell script in folder."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"command": f"./{name}", "apiVersion": VERSION}


def answering(folder: Path, **status: Any) -> dict[str, Any]:
    credential = json.dumps({"kind": "ExecCredential", "apiVersion": VERSION, "status": status})
    return plugin(folder, f"cat <<'END'\n{credential}\nEND")


def test_a_token_and_its_expiry(tmp_path: Path) -> None:
    """E06: a plugin's token is a bearer token until the time it names."""
    section = answering(tmp_path, token="t", expirationTimestamp="2026-01-02T03:04:05Z")
    fetched = fetch_from_plugin(section, {}, str(tmp_path))
    assert fetched.authorization == "Bearer t"
    assert fetched.expires_at == 1767323045.0
    assert fetched.key_pair is None


def test_a_client_certificate(tmp_path: Path) -> None:
    """A plugin may answer with a key pair."""
    section = answering(tmp_path, clientCertificateData="CERT", clientKeyData="KEY")
    fetched = fetch_from_plugin(section, {}, str(tmp_path))
    assert fetched.key_pair == KeyPair(b"CERT", b"KEY")
    assert (fetched.authorization, fetched.expires_at) == ("", None)


def test_arguments_environment_and_cluster(tmp_path: Path) -> None:
    """The plugin gets its arguments, its environment, and the cluster if it asked."""
    body = (
        'test "$1" = login || exit 3\n'
        f'printf \'{{"kind":"ExecCredential","apiVersion":"{VERSION}","status":{{"token":"%s"}}}}\' '
        '"$PREFIX-$(echo $KUBERNETES_EXEC_INFO | tr -dc a-zA-Z0-9)"'
    )
    section = plugin(tmp_path, body) | {
        "args": ["login"],
        "env": [{"name": "PREFIX", "value": "p"}],
        "provideClusterInfo": True,
    }
    fetched = fetch_from_plugin(section, {"server": "https://h"}, str(tmp_path))
    assert fetched.authorization.startswith("Bearer p-")
    assert "serverhttpsh" in fetched.authorization


def test_a_plugin_that_is_not_there(tmp_path: Path) -> None:
    """E06: the error names the program and has the kubeconfig's words on installing it."""
    for command, where in (("no-such-plugin-here", " in PATH"), ("./missing", "")):
        section = {"command": command, "apiVersion": VERSION, "installHint": "brew install it\n"}
        with pytest.raises(ConfigError) as caught:
            fetch_from_plugin(section, {}, str(tmp_path))
        error = caught.value
        assert error.kind is ConfigProblem.EXEC_PLUGIN
        assert error.message == f'exec plugin "{command}" not found{where}'
        assert (error.plugin, error.install_hint, error.fix) == (
            command,
            "brew install it",
            "brew install it",
        )


def status(text: str, version: str = VERSION) -> str:
    """A script that answers with this status, as it is."""
    return f"""echo '{{"kind":"ExecCredential","apiVersion":"{version}","status":{text}}}'"""


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        ("echo denied >&2; exit 1", "denied"),
        ("echo '{'", "decode"),
        ("echo '{}'", "missing key"),
        (status("[]"), "without a status"),
        (status("{}"), "without token"),
        (status('{"clientKeyData":"k"}'), "half a key pair"),
        (status('{"token":"t","expirationTimestamp":"soon"}'), "bad expirationTimestamp"),
        (status('{"token":"canary\\\\nx"}'), "does not fit in a header"),
        (status('{"token":7}'), "does not fit in a header"),
        (status('{"token":"t"}', "other/v1"), "api version"),
    ],
)
def test_a_plugin_that_fails(tmp_path: Path, body: str, cause: str) -> None:
    """E06: whatever goes wrong is one error with its cause, and shows no token."""
    with pytest.raises(ConfigError) as caught:
        fetch_from_plugin(plugin(tmp_path, body), {}, str(tmp_path))
    assert caught.value.kind is ConfigProblem.EXEC_PLUGIN
    assert cause in caught.value.cause
    assert "canary" not in str(caught.value)


def test_a_section_without_a_command(tmp_path: Path) -> None:
    """A malformed section is an error like any other."""
    with pytest.raises(ConfigError):
        fetch_from_plugin({"apiVersion": VERSION}, {}, str(tmp_path))
    section = plugin(tmp_path, "true")
    del section["apiVersion"]
    with pytest.raises(ConfigError, match="apiVersion"):
        fetch_from_plugin(section, {}, str(tmp_path))


def test_a_plugin_in_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bare name is looked up in PATH."""
    answering(tmp_path, token="t")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert fetch_from_plugin({"command": "plugin", "apiVersion": VERSION}, {}, "").authorization == "Bearer t"


def id_token(expires: int) -> str:
    payload = base64.urlsafe_b64encode(json.dumps({"exp": expires}).encode()).decode().rstrip("=")
    return f"head.{payload}.sig"


def test_an_oidc_provider_s_token() -> None:
    """An auth provider of the kubernetes package gives its token, asked again every minute."""
    token = id_token(4_000_000_000)
    user = {"auth-provider": {"name": "oidc", "config": {"id-token": token}}}
    fetched = fetch_from_provider(user, "", 1000.0)
    assert fetched.authorization == f"Bearer {token}"
    assert fetched.expires_at == 1060.0


@pytest.mark.parametrize(
    "provider", [{"name": "azure", "config": {}}, {"name": "oidc"}, {"name": "oidc", "config": {}}, {}]
)
def test_a_provider_that_gives_nothing(provider: dict[str, Any]) -> None:
    """E06: a provider that is gone or broken says so by name."""
    with pytest.raises(ConfigError) as caught:
        fetch_from_provider({"auth-provider": provider}, "", 0.0)
    assert caught.value.kind is ConfigProblem.CREDENTIALS
    assert f'auth provider "{provider.get("name", "")}" failed' in caught.value.message
