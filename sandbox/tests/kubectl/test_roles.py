"""The roles of the docs' operator, tried on a sandbox as docs/how-to/packaging-and-deploying.md shows."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from handloop_sandbox.server import Sandbox
from support.checks.docs_page import blocks_of
from support.servers.kubectl import Kubectl

PAGE = "how-to/packaging-and-deploying.md"
ROOT = Path(__file__).parents[3]
Shell = Callable[[str], tuple[int, str]]


@pytest.fixture
def shell(cluster: Kubectl, tmp_path: Path, sandbox_only: None) -> Shell:
    """Runs lines in a folder with the page's files, until one fails. Returns: code and output."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, binary in (("python", sys.executable), ("kubectl", cluster.binary)):
        (programs / name).write_text(f'#!/bin/sh\nexec {binary} "$@"\n', encoding="utf-8")
        (programs / name).chmod(0o700)
    greeter = blocks_of("your-first-controller.md")["greeter.py"]
    (tmp_path / "greeter.py").write_text(greeter, encoding="utf-8")
    (tmp_path / "deployment.yaml").write_text(blocks_of(PAGE)["deployment.yaml"], encoding="utf-8")
    path = f"{programs}:{os.environ['PATH']}"
    env = {"PATH": path, "HOME": str(cluster.home), "PYTHONPATH": str(ROOT)}

    def run(lines: str) -> tuple[int, str]:
        done = subprocess.run(
            ["sh", "-ec", lines],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    return run


def test_a_token_is_refused_in_the_words_of_act_as(shell: Shell, tmp_path: Path) -> None:
    """Over TLS kubectl sends it."""
    with Sandbox(seed=1, tls=True) as sandbox:
        sandbox.write_kubeconfig(tmp_path / "kubeconfig")
        begin = "export KUBECONFIG=kubeconfig; kubectl create serviceaccount reader > /dev/null;"
        by_token = shell(f"{begin} kubectl get pods --token=$(kubectl create token reader)")
        by_name = shell("kubectl --kubeconfig=kubeconfig get pods --as=system:serviceaccount:default:reader")
    assert by_token == by_name
    assert by_name[1] == (
        'Error from server (Forbidden): pods is forbidden: User "system:serviceaccount:default:reader" '
        'cannot list resource "pods" in API group "" in the namespace "default"\n'
    )


@pytest.mark.parametrize("tls", [False, True])
def test_the_roles_of_the_page_are_enough_and_nothing_else_is_allowed(
    shell: Shell, tmp_path: Path, tls: bool
) -> None:
    """As the account itself doctor passes; without its binding it names the missing permissions."""
    page = blocks_of(PAGE)
    assert shell(page["manifests"])[0] == 0
    with Sandbox(seed=1, tls=tls) as sandbox:
        sandbox.write_kubeconfig(tmp_path / ".sandbox" / "kubeconfig")
        code, output = shell(f"KUBECONFIG=.sandbox/kubeconfig kubectl apply -f crd.yaml\n{page['roles']}")
        assert code == 0, output
        doctor = page["roles"].splitlines()[-1]
        unbind = "kubectl --kubeconfig=.sandbox/kubeconfig delete clusterrolebinding greeter"
        code, output = shell(f"{unbind}\n{doctor}")
        assert code != 0
        assert "missing 12 of 17 permissions" in output
