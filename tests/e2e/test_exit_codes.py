from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
import yaml

from handloop.controller.foo.access import FOO_ACCESS
from support.rigs.program import NO_SERVERS, SECONDS, running
from support.servers.certificates import CertificateAuthority
from support.servers.cluster import (
    NAMESPACES,
    SandboxCluster,
    arguments_for,
    sandbox_cluster,
    token_kubeconfig,
)

PERMISSIONS = sum(len(access.verbs) for access in FOO_ACCESS)


def ended(folder: Path, *arguments: str, kubeconfig_variable: str = "") -> tuple[int, str]:
    """Exit code and log of a run that ends by itself, without a traceback."""
    environment = {"KUBECONFIG": kubeconfig_variable} if kubeconfig_variable else {}
    with running(*arguments, folder=folder, environment=environment) as program:
        code = program.wait(seconds=SECONDS)
    return code, "\n".join(program.log)


def kubeconfig(folder: Path, server: str, **cluster: str) -> str:
    """A kubeconfig with one context, `only`."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "only",
        "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "only", "context": {"cluster": "c", "user": "u"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return str(path)


def assert_problem(log: str, code: str, *words: str) -> None:
    """The shape of every problem, and the words of this one."""
    assert f"more: handloop errors {code.upper()}" in log
    for word in ("error: ", "  fix: ", *words):
        assert word in log


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--kubeconfg=x"], "unknown flag --kubeconfg; did you mean --kubeconfig?"),
        (["rum"], 'unknown command "rum"; did you mean run?'),
        (["--resync=5"], "missing unit in duration"),
    ],
)
def test_a_line_that_cannot_be_understood(tmp_path: Path, arguments: list[str], words: str) -> None:
    """Usage errors name the nearest word, and exit with 2."""
    code, log = ended(tmp_path, *arguments)
    assert code == 2
    assert log.startswith("error: ")
    assert words in log


def test_no_configuration_at_all(tmp_path: Path) -> None:
    """E01 lists where it looked, and exits with 3."""
    code, log = ended(tmp_path, *NO_SERVERS)
    assert code == 3
    assert_problem(log, "e01", "no cluster configuration found", "--sandbox", "$KUBECONFIG")


def test_a_kubeconfig_that_is_not_there(tmp_path: Path) -> None:
    """E02 names the path, and exits with 3."""
    code, log = ended(tmp_path, *NO_SERVERS, "--kubeconfig", str(tmp_path / "absent"))
    assert code == 3
    assert_problem(log, "e02", f"{tmp_path}/absent", "no such file")


@pytest.mark.parametrize("text", ["", "a: b: c\n", "[1, 2]"])
def test_a_kubeconfig_that_cannot_be_read(tmp_path: Path, text: str) -> None:
    """Whatever the file holds instead of a kubeconfig, it is E02 or E01, and 3."""
    path = tmp_path / "broken"
    path.write_text(text, encoding="utf-8")
    code, log = ended(tmp_path, *NO_SERVERS, "--kubeconfig", str(path))
    assert code == 3
    assert "handloop errors E02" in log or "handloop errors E01" in log


def test_a_context_that_is_not_there(tmp_path: Path) -> None:
    """E03 names those that are, and exits with 3."""
    path = kubeconfig(tmp_path, "http://127.0.0.1:1")
    code, log = ended(tmp_path, *NO_SERVERS, "--context=onyl", kubeconfig_variable=path)
    assert code == 3
    assert_problem(log, "e03", '"onyl"', "did you mean only?")


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    """E04 names a refused connection; only with --preflight=exit that is the end, with 4."""
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        path = kubeconfig(tmp_path, f"http://127.0.0.1:{taken.getsockname()[1]}")
        code, log = ended(tmp_path, *NO_SERVERS, "--kubeconfig", path, "--preflight=exit")
    assert code == 4
    assert_problem(log, "e04", "cannot reach http://127.0.0.1:", "onnection refused")


def test_a_certificate_that_is_not_trusted(tmp_path: Path) -> None:
    """E05 names the server and never suggests to look away; it is tried again, and a stop is no error."""
    other = CertificateAuthority(tmp_path / "other")
    context = CertificateAuthority(tmp_path / "ca").issue("server").server_context()
    with refused_handshakes(context) as port:
        path = kubeconfig(
            tmp_path, f"https://127.0.0.1:{port}", **{"certificate-authority": str(other.certificate)}
        )
        with running(*NO_SERVERS, "--kubeconfig", path, folder=tmp_path) as program:
            program.wait_line("handloop errors E05")
            assert program.stop() == 0
    log = "\n".join(program.log)
    assert_problem(log, "e05", f"https://127.0.0.1:{port}", "certificate")
    assert "insecure" not in log


@contextmanager
def refused_handshakes(context: ssl.SSLContext) -> Iterator[int]:
    """A TLS server whose certificate is not trusted; gives its port."""
    stopped = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.1)

    def serve() -> None:
        while not stopped.is_set():
            with suppress(OSError):
                connection, _ = listener.accept()
                with connection:
                    connection.settimeout(5)
                    context.wrap_socket(connection, server_side=True).close()

    thread = threading.Thread(target=serve, name="refused-handshakes", daemon=True)
    thread.start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        stopped.set()
        thread.join()
        listener.close()


def test_a_token_that_is_not_accepted(sandbox: SandboxCluster, tmp_path: Path) -> None:
    """E06 names the 401; with --preflight=exit it exits with 3."""
    path = token_kubeconfig(sandbox, "stale", tmp_path / "stale.kubeconfig")
    code, log = ended(tmp_path, *arguments_for(sandbox, path), "--preflight=exit")
    assert code == 3
    assert_problem(log, "e06", "401")


def test_a_server_without_the_definition(tmp_path: Path) -> None:
    """E07 names the file to apply; with --preflight=exit it exits with 6."""
    with sandbox_cluster(tmp_path, definition=None) as cluster:
        code, log = ended(tmp_path, *arguments_for(cluster), "--preflight=exit")
    assert code == 6
    assert_problem(log, "e07", "foos.samplecontroller.k8s.io/v1alpha1", "manifests crd | kubectl apply -f -")


def test_an_account_that_may_nothing(sandbox: SandboxCluster, tmp_path: Path) -> None:
    """E09 lists everything that is missing at once; with --preflight=exit it exits with 5."""
    accounts = f"{NAMESPACES}/default/serviceaccounts"
    sandbox.create(accounts, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "nobody"}})
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = sandbox.create(f"{accounts}/nobody/token", request)["status"]["token"]
    path = token_kubeconfig(sandbox, token, tmp_path / "nobody.kubeconfig")
    code, log = ended(tmp_path, *arguments_for(sandbox, path), "--preflight=exit")
    assert code == 5
    assert_problem(
        log,
        "e09",
        f"missing {PERMISSIONS} of {PERMISSIONS} permissions",
        "system:serviceaccount:default:nobody",
    )
    assert "update foos.samplecontroller.k8s.io/status" in log


@pytest.mark.parametrize("purpose", ["metrics", "health-probe"])
def test_a_port_that_is_taken(tmp_path: Path, purpose: str) -> None:
    """E10 names address and flag, and exits with 7, before the server is asked anything."""
    path = kubeconfig(tmp_path, "http://127.0.0.1:1")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        flag = f"--{purpose}-bind-address"
        code, log = ended(tmp_path, "--kubeconfig", path, *NO_SERVERS, f"{flag}={address}")
    assert code == 7
    assert_problem(log, "e10", f"cannot listen on {address}", f"{flag}=0 to turn it off")


def test_a_sandbox_port_that_is_taken(tmp_path: Path) -> None:
    """The sandbox's port, too, is E10 and 7."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, log = ended(tmp_path, "--sandbox", f"--sandbox-port={taken.getsockname()[1]}")
    assert code == 7
    assert_problem(log, "e10", "--sandbox-port")
