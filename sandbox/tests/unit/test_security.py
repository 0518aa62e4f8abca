"""A client of a sandbox cannot come from elsewhere or without a token, fill the memory, or read a file."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from handloop.client.config import load_config
from handloop.client.errors import TLSError
from handloop.client.transport import HTTPTransport
from handloop_sandbox.requests.request import Response
from handloop_sandbox.server import Sandbox
from support.builders.widgets import CRDS, definition
from support.servers.kubectl import kubectl_binary
from support.servers.local_server import LocalServer

_MAPS = "/api/v1/namespaces/default/configmaps"
_PATHS = (
    "/../../../../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/..%2f..%2f..%2fetc%2fpasswd",
    "/api/v1/namespaces/default/configmaps/..%2f..%2fetc%2fpasswd",
    "/api/v1/namespaces/..%2f../configmaps/x",
    "/api/v1/namespaces/default/configmaps/%00",
    "/apis/../../etc/v1/passwd",
    "/openapi/v3/../../../../etc/passwd",
    "/openapi/v3/apis/..%2f..%2fkinds.json",
    "/sandbox/faults/..%2f..%2fetc%2fpasswd",
    "/sandbox/../server.py",
    "//etc/passwd",
    "/file:///etc/passwd",
)


def _port(sandbox: Sandbox) -> int:
    return int(sandbox.url.rpartition(":")[2])


def _ask(sandbox: Sandbox, path: str, *, context: ssl.SSLContext | None = None, token: str = "") -> int:
    port = _port(sandbox)
    connection = (
        http.client.HTTPSConnection("127.0.0.1", port, timeout=20, context=context)
        if context
        else http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    )
    with closing(connection):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        connection.request("GET", path, headers=headers)
        return connection.getresponse().status


@pytest.fixture
def plain() -> Iterator[Sandbox]:
    """A sandbox as it is without being asked for anything."""
    with Sandbox(controllers=()) as sandbox:
        yield sandbox


def test_it_listens_on_loopback_only(plain: Sandbox) -> None:
    """Not even another loopback address is served, let alone the machine's."""
    socket.create_connection(("127.0.0.1", _port(plain))).close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", _port(plain)))


def test_a_token_is_needed_by_default(plain: Sandbox) -> None:
    """Without one, or with a wrong one, nothing but health and version; in the path or in the header."""
    assert _ask(plain, _MAPS) == 403
    assert _ask(plain, _MAPS, token="wrong") == 401
    assert _ask(plain, "/sandbox/faults") == 403
    assert _ask(plain, f"/wrong{_MAPS}") in (403, 404)
    assert _ask(plain, f"/{plain.token}{_MAPS}") == 200
    assert _ask(plain, _MAPS, token=plain.token) == 200
    assert len(plain.token) >= 32


def test_a_token_of_any_bytes_is_merely_wrong(plain: Sandbox) -> None:
    """401, not an error of the server."""
    with socket.create_connection(("127.0.0.1", _port(plain)), timeout=20) as connection:
        head = b"GET /version HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \xff\xfe\r\n\r\n"
        connection.sendall(head)
        assert connection.recv(100).startswith(b"HTTP/1.1 401")
    with socket.create_connection(("127.0.0.1", _port(plain)), timeout=20) as connection:
        connection.sendall(b"GET /\xff\xfe/api HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(100).startswith((b"HTTP/1.1 40", b"HTTP/1.0 40"))


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"POST /api/v1/namespaces/default/pods HTTP/1.1\r\nImpersonate-User: \xff", b" 403 "),
        (b"GET /api/v1/namespaces/default/configmaps?watch=1 HTTP/2.0", b" 400 "),
    ],
    ids=["name", "version"],
)
def test_what_no_answer_can_be_made_of_is_refused(plain: Sandbox, line: bytes, status: bytes) -> None:
    """A name that is no text stands in no answer, and a version that has no chunks gets no stream."""
    head = (
        b"\r\nHost: localhost\r\nContent-Length: 2\r\nAuthorization: Bearer %b\r\n\r\n{}"
        % plain.token.encode()
    )
    with socket.create_connection(("127.0.0.1", _port(plain)), timeout=20) as connection:
        connection.sendall(line + head)
        assert status in connection.recv(100)


def test_other_addresses_are_asked_for_and_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    """It then listens there, warns that others can reach it, and without TLS that they can read the token."""
    with Sandbox(controllers=(), address="127.0.0.2") as sandbox:
        assert sandbox.url.startswith("http://127.0.0.2:")
        socket.create_connection(("127.0.0.2", _port(sandbox))).close()
    assert not caplog.records
    with Sandbox(controllers=(), address="0.0.0.0") as sandbox:  # noqa: S104 - the tested address
        assert _ask(sandbox, _MAPS, token=sandbox.token) == 200
    assert [record.getMessage() for record in caplog.records] == [
        "the sandbox listens on 0.0.0.0: other machines can reach it",
        "the sandbox's token is sent unencrypted over the network. Use TLS to protect it",
    ]


def test_a_sandbox_is_never_opened_to_all_by_accident() -> None:
    """Without a token only loopback is possible."""
    with pytest.raises(ValueError, match="needs a token, because other machines can reach it"):
        Sandbox(controllers=(), address="0.0.0.0", token="")  # noqa: S104 - the tested address


def test_tls_with_a_certificate_of_its_own(tmp_path: Path) -> None:
    """The kubeconfig trusts it and nothing else does; the token is taken from the header only."""
    with Sandbox(controllers=(), tls=True) as sandbox:
        assert sandbox.url.startswith("https://127.0.0.1:")
        kubeconfig = sandbox.write_kubeconfig(tmp_path / "kubeconfig")
        document = yaml.safe_load(kubeconfig.read_text())
        assert document["clusters"][0]["cluster"]["server"] == sandbox.url
        transport = HTTPTransport(load_config(kubeconfig=str(kubeconfig)))
        assert transport.request("GET", _MAPS).status == 200
        transport.close()
        trusting = ssl.create_default_context(cadata=sandbox.certificate.decode())
        assert _ask(sandbox, f"/{sandbox.token}{_MAPS}", context=trusting) == 403
        assert _ask(sandbox, _MAPS, context=trusting, token=sandbox.token) == 200
        with pytest.raises(ssl.SSLCertVerificationError):
            _ask(sandbox, "/version", context=ssl.create_default_context())
        with pytest.raises((http.client.BadStatusLine, ConnectionError)):
            _ask(sandbox, "/version")


def test_another_sandboxs_certificate_is_refused(tmp_path: Path) -> None:
    """Each kubeconfig leads to one server only."""
    with Sandbox(controllers=(), tls=True) as one, Sandbox(controllers=(), tls=True) as other:
        text = one.kubeconfig_text().replace(one.url, other.url)
        path = tmp_path / "kubeconfig"
        path.write_text(text)
        transport = HTTPTransport(load_config(kubeconfig=str(path)))
        with pytest.raises(TLSError):
            transport.request("GET", "/version")
        transport.close()


@pytest.mark.kubectl
def test_kubectl_over_tls(tmp_path: Path) -> None:
    """The stock kubectl sends the token and trusts the certificate, watches included."""
    kubectl = kubectl_binary()
    with Sandbox(tls=True, speed=50.0) as sandbox:
        kubeconfig = sandbox.write_kubeconfig(tmp_path / "kubeconfig")
        command = [kubectl, f"--kubeconfig={kubeconfig}", f"--cache-dir={tmp_path}"]
        run = [*command, "create", "deployment", "web", "--image=nginx"]
        subprocess.run(run, check=True, capture_output=True, timeout=60)
        rollout = [*command, "rollout", "status", "deployment/web", "--timeout=60s"]
        done = subprocess.run(rollout, check=True, capture_output=True, text=True, timeout=90)
    assert "successfully rolled out" in done.stdout


def test_bodies_are_bounded_however_they_come(plain: Sandbox) -> None:
    """413 for a declared length and for chunks without one; the connection's next request is served."""
    too_much = 3 * 1024 * 1024 + 10
    headers = {"Authorization": f"Bearer {plain.token}", "Content-Type": "application/json"}
    chunks = (b"x" * 65536 for _ in range(too_much // 65536 + 1))
    for body in (b"x" * too_much, chunks):
        connection = http.client.HTTPConnection("127.0.0.1", _port(plain), timeout=20)
        with closing(connection):
            connection.request("POST", _MAPS, body, headers)
            answer = connection.getresponse()
            assert (answer.status, json.loads(answer.read())["reason"]) == (413, "RequestEntityTooLarge")
    assert _ask(plain, "/version") == 200


def test_request_heads_are_bounded(plain: Sandbox) -> None:
    """A line or a header of more than 64 KiB is 400."""
    for line, header in (("/" + "x" * 70_000, "x"), ("/version", "x" * 70_000)):
        connection = http.client.HTTPConnection("127.0.0.1", _port(plain), timeout=20)
        with closing(connection):
            connection.request("GET", line, headers={"X-Header": header})
            assert connection.getresponse().status == 400


@pytest.mark.parametrize("content_type", ["application/json", "application/yaml"])
def test_depth_is_no_weapon(server: LocalServer, content_type: str) -> None:
    """A body that is nested a hundred thousand times is a bad request, and the server lives."""
    body = b'{"apiVersion":"v1","kind":"ConfigMap","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert server.request("POST", _MAPS, body, content_type=content_type).status == 400
    assert server.request("GET", _MAPS).status == 200


def _nested_definition(depth: int) -> bytes:
    schema = '{"type":"object","properties":{"a":' * depth + '{"type":"string"}' + "}}" * depth
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": "here"}}
    whole = json.dumps(definition("deep.example.com", "deeps", "Deep", versions=[version]))
    return whole.replace('"here"', schema).encode()


@pytest.mark.parametrize("depth", [400, 1500, 6000])
def test_nested_schemas_are_no_weapon(depth: int) -> None:
    """A definition whose schemas nest more deeply than can be followed is a bad request, not a bug."""
    answer = LocalServer().request("POST", CRDS, _nested_definition(depth))
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")


def test_deep_objects_are_no_weapon(server: LocalServer) -> None:
    """An object that can be stored, and is too deep for a patch or for YAML, is a bad request, too."""
    assert server.request("POST", CRDS, definition("deep.example.com", "deeps", "Deep")).status == 201
    path = "/apis/deep.example.com/v1/namespaces/default/deeps"
    about = '{"apiVersion":"deep.example.com/v1","kind":"Deep","metadata":{"name":"x"},"spec":'
    body = (about + '{"a":' * 900 + "7" + "}" * 901).encode()
    assert server.request("POST", path, body).status == 201
    assert server.request("GET", f"{path}/x").status == 200
    answer = server.send("GET", f"{path}/x", accept="application/yaml")
    assert isinstance(answer, Response)
    assert answer.status == 400
    patch, kind = body.replace(b"7", b"8"), "application/merge-patch+json"
    assert server.request("PATCH", f"{path}/x", patch, content_type=kind).status == 400
    assert server.request("DELETE", f"{path}/x").status == 200


@pytest.mark.parametrize("asked_before", [b"", b"GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n"])
def test_a_connection_has_to_send_something(monkeypatch: pytest.MonkeyPatch, asked_before: bytes) -> None:
    """Who does not finish the head of a request in time is cut off, the first as well as a later one."""
    monkeypatch.setattr("handloop_sandbox.http._HEAD_SECONDS", 0.5)
    with (
        Sandbox(controllers=()) as sandbox,
        socket.create_connection(("127.0.0.1", _port(sandbox)), timeout=20) as slow,
        slow.makefile("rb") as answers,
    ):
        slow.sendall(asked_before + b"GET /version HTTP/1.1\r\nHost: 127.")
        assert answers.read().startswith(b"HTTP/1.1 200" if asked_before else b"")


_WATCHED = """
import sys
from handloop_sandbox.server import Sandbox
from handloop_sandbox.requests.request import Request

opened = []
sandbox = Sandbox(controllers=(), token="", seed=1)
transport = sandbox.transport()
paths = sys.stdin.read().split("\\n")

def ask():
    for path in paths:
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            answer = transport.request(method, path, body=b'{"metadata":{"name":"../../etc/passwd"}}')
            assert b"root:" not in answer.body, path

ask()  # tables are read from the package once
sys.addaudithook(lambda event, what: opened.append((event, str(what)[:200])) if event in WATCHED else None)
ask()
print(opened)
"""


def test_no_request_reaches_the_file_system() -> None:
    """With any path or name, nothing is opened, listed, removed or run."""
    watched = ("open", "os.listdir", "os.scandir", "os.remove", "os.rename", "os.mkdir", "subprocess.Popen")
    program = _WATCHED.replace("WATCHED", repr(watched))
    done = subprocess.run(
        [sys.executable, "-c", program],
        input="\n".join(_PATHS),
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.strip() == "[]"
