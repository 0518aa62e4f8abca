"""The servers that are measured: a sandbox in a process of its own, a kube-apiserver that runs already."""

from __future__ import annotations

import base64
import json
import os
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import yaml

HERE = Path(__file__).parent
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
"""Of programs that are measured: they find their bytecode, as in an image, from the second start on."""


@dataclass(frozen=True, slots=True)
class Server:
    """Where to send requests, and the processes whose CPU time is the server's."""

    name: str
    url: str
    token: str
    pids: tuple[int, ...] = ()
    tls: ssl.SSLContext | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        parts = urlsplit(self.url)
        return parts.hostname or "", parts.port or 443

    def request(
        self, method: str, path: str, body: bytes = b"", content_type: str = "application/json"
    ) -> bytes:
        """The bytes of a request."""
        host, port = self.address
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {host}:{port}\r\nAccept: application/json\r\n"
            "User-Agent: load/1\r\n"
        )
        if self.token:
            head += f"Authorization: Bearer {self.token}\r\n"
        if body:
            head += f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
        return head.encode() + b"\r\n" + body


def cpu_seconds_of(pid: int) -> float:
    """User and system time of a process, all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_seconds(server: Server) -> float:
    """User and system time of the server's processes."""
    return sum(map(cpu_seconds_of, server.pids))


def resident_mib_of(pid: int) -> float:
    """Resident memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def resident_mib(server: Server) -> float:
    """Resident memory of the server's processes."""
    return sum(map(resident_mib_of, server.pids))


def server_of(name: str, kubeconfig: str, pids: tuple[int, ...]) -> Server:
    """The cluster of a kubeconfig that has a bearer token, or a certificate in its text."""
    document = yaml.safe_load(kubeconfig)
    cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
    tls = None
    if authority := cluster.get("certificate-authority-data"):
        tls = ssl.create_default_context(cadata=base64.b64decode(authority).decode())
        if certificate := user.get("client-certificate-data"):
            with tempfile.NamedTemporaryFile() as both:  # the library reads nothing but files
                both.write(base64.b64decode(certificate) + b"\n" + base64.b64decode(user["client-key-data"]))
                both.flush()
                tls.load_cert_chain(both.name)
    return Server(name, cluster["server"], user.get("token", ""), pids, tls)


@contextmanager
def sandbox_process(*arguments: str) -> Iterator[tuple[int, str]]:
    """
    A sandbox in a process of its own, for as long as the context lasts: its pid and its kubeconfig.

    Args: those of sandbox_process.py.
    """
    command = [sys.executable, str(HERE / "sandbox_process.py"), *arguments]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        yield process.pid, json.loads(process.stdout.readline())
    finally:
        process.stdin.close()
        process.wait()


@contextmanager
def servers(beside: Path | None, beside_pids: str, *arguments: str) -> Iterator[list[Server]]:
    """
    A sandbox, for as long as the context lasts, and a running kube-apiserver.

    Args: beside is the kubeconfig of the latter, None = only the sandbox; beside_pids its processes, with
    commas; arguments as of sandbox_process.
    """
    with sandbox_process(*arguments) as (pid, kubeconfig):
        found = [server_of("sandbox", kubeconfig, (pid,))]
        if beside is not None:
            pids = tuple(int(pid) for pid in beside_pids.split(",") if pid)
            found.append(server_of("kube-apiserver", beside.read_text(), pids))
        yield found
