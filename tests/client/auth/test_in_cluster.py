from __future__ import annotations

from pathlib import Path

import pytest

from handloop.client.auth.in_cluster import (
    in_cluster_ca,
    in_cluster_namespace,
    in_cluster_possible,
    in_cluster_server,
    in_cluster_token,
)
from handloop.client.errors import ConfigError, ConfigProblem
from handloop.testing.fake_clock import FakeClock
from support.checks.captured_logs import captured_logs
from support.servers.certificates import CertificateAuthority

ENVIRON = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.mark.parametrize(
    ("environ", "token", "expected"),
    [
        (ENVIRON, "file", True),
        (ENVIRON, "missing", False),
        (ENVIRON, "folder", False),
        ({**ENVIRON, "KUBERNETES_SERVICE_HOST": ""}, "file", False),
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "file", False),
        ({}, "file", False),
    ],
)
def test_a_pod_is_recognised(tmp_path: Path, environ: dict[str, str], token: str, expected: bool) -> None:
    """Both variables and a token file make a pod."""
    if token == "file":
        (tmp_path / "token").write_text("t")
    elif token == "folder":
        (tmp_path / "token").mkdir()
    assert in_cluster_possible(environ, str(tmp_path)) is expected


def test_an_invalid_port() -> None:
    """A broken environment is an error with its name, not a broken URL."""
    with pytest.raises(ConfigError, match=r"KUBERNETES_SERVICE_PORT is not a port: tcp://10") as caught:
        in_cluster_server({**ENVIRON, "KUBERNETES_SERVICE_PORT": "tcp://10.0.0.1:443"})
    assert caught.value.kind is ConfigProblem.SERVER


def test_an_unreadable_token_is_an_error(tmp_path: Path) -> None:
    """A pod without its token cannot talk to the server."""
    (tmp_path / "token").write_text("")
    with pytest.raises(ConfigError, match="is empty"):
        in_cluster_token(str(tmp_path), FakeClock())


def test_the_ca(tmp_path: Path) -> None:
    """A CA that loads is used; one that does not is logged, and leaves the system's trust store."""
    authority = CertificateAuthority(tmp_path / "ca")
    (tmp_path / "ca.crt").write_bytes(authority.certificate.read_bytes())
    assert in_cluster_ca(str(tmp_path)) == str(tmp_path / "ca.crt")
    for content in ("garbage", None):
        (tmp_path / "ca.crt").unlink()
        if content:
            (tmp_path / "ca.crt").write_text(content)
        else:
            (tmp_path / "ca.crt").mkdir()
        with captured_logs() as entries:
            assert in_cluster_ca(str(tmp_path)) == ""
        assert [entry["log_level"] for entry in entries] == ["error"]


def test_the_namespace(tmp_path: Path) -> None:
    """$POD_NAMESPACE, else the mounted file, else default."""
    assert in_cluster_namespace({}, str(tmp_path)) == "default"
    (tmp_path / "namespace").write_text(" demo\n")
    assert in_cluster_namespace({}, str(tmp_path)) == "demo"
    assert in_cluster_namespace({"POD_NAMESPACE": "pod"}, str(tmp_path)) == "pod"
    (tmp_path / "namespace").write_text("x" * ((1 << 20) + 1))
    assert in_cluster_namespace({}, str(tmp_path)) == "default"
    (tmp_path / "namespace").write_text("\n")
    assert in_cluster_namespace({"POD_NAMESPACE": ""}, str(tmp_path)) == "default"
