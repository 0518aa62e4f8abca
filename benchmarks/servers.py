"""The servers that are measured: a sandbox in its own process, and a running kube-apiserver."""

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
"""The environment of measured programs. As in an image, they find their bytecode from the second start on."""


@dataclass(frozen=True, slots=True)
class Server:
    """The address for requests, and the processes whose CPU time counts as the server's."""

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
    """Return a process's user and system time, for all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_seconds(server: Server) -> float:
    """Return the user and system time of the server's processes."""
    return sum(map(cpu_seconds_of, server.pids))


def resident_mib_of(pid: int) -> float:
    """Resident memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def resident_mib(server: Server) -> float:
    """Resident memory of the server's processes."""
    return sum(map(resident_mib_of, server.pids))


def server_of(name: str, kubeconfig: str, pids: tuple[int, ...]) -> Server:
    """Return the cluster in a kubeconfig that contains a bearer token or a certificate as text."""
    document = yaml.safe_load(kubeconfig)
    cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
    tls = None
    if authority := cluster.get("certificate-authority-data"):
        tls = ssl.create_default_context(cadata=base64.b64decode(authority).decode())
        if certificate := user.get("client-certificate-data"):
            with tempfile.NamedTemporaryFile() as both:  # the library can only read files
                both.write(base64.b64decode(certificate) + b"\n" + base64.b64decode(user["client-key-data"]))
                both.flush()
                tls.load_cert_chain(both.name)
    return Server(name, cluster["server"], user.get("token", ""), pids, tls)


@contextmanager
def sandbox_process(*arguments: str) -> Iterator[tuple[int, str]]:
    """
    Run a sandbox in its own process until the context ends. Yields: its pid and its kubeconfig.

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
    Run a sandbox until the context ends. Yields: the sandbox, and a running kube-apiserver.

    Args: beside is the kube-apiserver's kubeconfig; None means only the sandbox. beside_pids are its
    processes, separated by commas. arguments are those of sandbox_process.
    """
    with sandbox_process(*arguments) as (pid, kubeconfig):
        found = [server_of("sandbox", kubeconfig, (pid,))]
        if beside is not None:
            pids = tuple(int(pid) for pid in beside_pids.split(",") if pid)
            found.append(server_of("kube-apiserver", beside.read_text(), pids))
        yield found
