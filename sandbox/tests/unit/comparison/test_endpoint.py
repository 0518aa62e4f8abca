from __future__ import annotations

from pathlib import Path

import pytest

from handloop_sandbox.comparison.endpoint import Endpoint, KubeconfigError
from handloop_sandbox.server import Sandbox


@pytest.mark.parametrize("tls", [True, False])
def test_answers_of_a_server(tmp_path: Path, tls: bool) -> None:
    """Over TLS and without; JSON is decoded, other texts come as they are."""
    with Sandbox(controllers=(), tls=tls) as sandbox:
        kubeconfig = sandbox.write_kubeconfig(tmp_path / "kubeconfig")
        with Endpoint(kubeconfig) as server:
            assert server.send("GET", "/version").body["major"] == "1"
            assert server.send("GET", "/nothing") == (404, "404 page not found\n", [])
            body = {"metadata": {"name": "a", "finalizers": ["x"]}}
            made = server.send("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", body)
            assert (made.status, made.body["reason"]) == (422, "Invalid")


def test_a_login_by_a_program_is_refused(tmp_path: Path) -> None:
    """The message says what to use."""
    text = """
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: a, user: {exec: {command: login}}}]
"""
    (tmp_path / "kubeconfig").write_text(text, encoding="utf-8")
    with pytest.raises(KubeconfigError, match="use a kubeconfig with a certificate or a token"):
        Endpoint(tmp_path / "kubeconfig")
