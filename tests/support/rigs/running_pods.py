"""
Programs in pods, reached as the node would: processes to look at and to kill, and their output.

TEST_PODS names the nodes: `processes` of this machine, with their output as files in TEST_POD_LOGS;
`kind`, containers of a kind cluster. Anything else can be asked for its output only.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

import pytest

from support.servers.kubectl import Kubectl

_FETCH: Final = """
import ssl, sys, urllib.error, urllib.request
token, context = sys.stdin.read(), ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
headers = {"Authorization": "Bearer " + token} if token else {}
try:
    request = urllib.request.Request(sys.argv[1], headers=headers)
    answer = urllib.request.urlopen(request, context=context, timeout=20)
except urllib.error.HTTPError as error:
    answer = error
print(answer.status)
print(answer.read().decode())
"""


class Pods(Protocol):
    """The pods of one namespace."""

    def process(self, pod: str) -> Mapping[str, str]:
        """`/proc/PID/status` of the container's first process, and its mount of `/` as `root`."""

    def kill(self, pod: str) -> None:
        """End the container's first process with -9."""

    def page(self, pod: str, port: int, path: str) -> str:
        """What the pod answers on a port over plain HTTP."""

    def secured(self, pod: str, port: int, path: str, token: str) -> tuple[int, str]:
        """The status and the page over TLS, whoever signed it. Args: token "" = none."""

    def logs(self) -> dict[str, list[str]]:
        """The lines that each pod wrote so far, also of pods that are gone where that can be known."""


class ProcessPods:
    """Pods that are processes of this machine."""

    def __init__(self, namespace: str, logs: Path) -> None:
        self._prefix = f"pod_{namespace}_"
        self._logs = logs

    def process(self, pod: str) -> Mapping[str, str]:
        """Read the kernel's account of it."""
        folder = Path("/proc", str(self._pid(pod)))
        return _facts((folder / "status").read_text(), (folder / "mounts").read_text())

    def kill(self, pod: str) -> None:
        """The kernel does it."""
        os.kill(self._pid(pod), signal.SIGKILL)

    def page(self, pod: str, port: int, path: str) -> str:
        """Asked from within the pod's network, which it has to itself."""
        return self._fetch(pod, f"http://127.0.0.1:{port}{path}", "")[1]

    def secured(self, pod: str, port: int, path: str, token: str) -> tuple[int, str]:
        """The same."""
        return self._fetch(pod, f"https://127.0.0.1:{port}{path}", token)

    def _fetch(self, pod: str, url: str, token: str) -> tuple[int, str]:
        command = ["nsenter", "-t", str(self._pid(pod)), "-n", sys.executable, "-c", _FETCH, url]
        ended = subprocess.run(
            command, input=token, check=True, capture_output=True, text=True, timeout=30
        ).stdout
        status, _, text = ended.partition("\n")
        return int(status), text

    def logs(self) -> dict[str, list[str]]:
        """Files stay when pods go."""
        return {
            path.stem.removeprefix(self._prefix): path.read_text(encoding="utf-8").splitlines()
            for path in sorted(self._logs.glob(f"{self._prefix}*.log"))
        }

    def _pid(self, pod: str) -> int:
        """The one process whose host name is the pod's and that has not come from another such process."""
        named = {pid for pid in _pids() if f"HOSTNAME={pod}" in _environment(pid)}
        (first,) = (pid for pid in named if _parent(pid) not in named)
        return first


class ForeignPods:
    """Pods on nodes that are not ours to enter."""

    def __init__(self, kubectl: Kubectl) -> None:
        self._kubectl = kubectl

    def process(self, pod: str) -> Mapping[str, str]:
        """Nobody knows."""
        pytest.skip(f"no way into the node of {pod}: TEST_PODS is neither processes nor kind")

    def kill(self, pod: str) -> None:
        """Nobody can."""
        self.process(pod)

    def page(self, pod: str, port: int, path: str) -> str:
        """Through the API server."""
        where = f"/api/v1/namespaces/{self._kubectl.namespace}/pods/{pod}:{port}/proxy{path}"
        return self._kubectl("get", "--raw", where).out

    def secured(self, pod: str, port: int, path: str, token: str) -> tuple[int, str]:
        """Through a tunnel: the API server's proxy would keep the token to itself."""
        with self._kubectl.tunnel(f"pod/{pod}", port) as local:
            command = [sys.executable, "-c", _FETCH, f"https://127.0.0.1:{local}{path}"]
            ended = subprocess.run(
                command, input=token, check=True, capture_output=True, text=True, timeout=30
            )
        status, _, text = ended.stdout.partition("\n")
        return int(status), text

    def logs(self) -> dict[str, list[str]]:
        """Of the pods there are, their previous containers included."""
        return {
            name.removeprefix("pod/"): [
                *self._kubectl.run("logs", name, "--previous").out.splitlines(),
                *self._kubectl.run("logs", name).out.splitlines(),
            ]
            for name in self._kubectl("get", "pods", "-o", "name").lines
        }


class KindPods(ForeignPods):
    """Pods of a kind cluster: its nodes are containers of docker."""

    def process(self, pod: str) -> Mapping[str, str]:
        """Read the account of the node's kernel."""
        pid = self._pid(pod)
        return _facts(
            self._on_node(pod, "cat", f"/proc/{pid}/status"), self._on_node(pod, "cat", f"/proc/{pid}/mounts")
        )

    def kill(self, pod: str) -> None:
        """From the node: inside the container its first process cannot be killed."""
        self._on_node(pod, "kill", "-9", self._pid(pod))

    def _pid(self, pod: str) -> str:
        label = f"io.kubernetes.pod.name={pod}"
        container = self._on_node(pod, "crictl", "ps", "--quiet", "--label", label).split()[0]
        return str(json.loads(self._on_node(pod, "crictl", "inspect", container))["info"]["pid"])

    def _on_node(self, pod: str, *command: str) -> str:
        node = self._kubectl.value(".spec.nodeName", "pod", pod)
        return subprocess.run(
            ["docker", "exec", node, *command], check=True, capture_output=True, text=True, timeout=30
        ).stdout


def pods_of(kubectl: Kubectl, environment: Mapping[str, str] = os.environ) -> Pods:
    """The pods of kubectl's namespace, by TEST_PODS."""
    nodes = environment.get("TEST_PODS", "")
    if nodes == "processes":
        return ProcessPods(kubectl.namespace, Path(environment["TEST_POD_LOGS"]))
    return KindPods(kubectl) if nodes == "kind" else ForeignPods(kubectl)


def complaints(lines: list[str]) -> Iterator[dict[str, Any]]:
    """The warnings and errors among JSON log lines; a line that is no JSON, such as a traceback, is one."""
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            # a note of the stand-in for the nodes, about the node's own doings
            if not line.startswith("[stand-in "):
                yield {"level": "error", "msg": line}
            continue
        if entry.get("level") not in ("info", "debug"):
            yield entry


def _facts(status: str, mounts: str) -> dict[str, str]:
    facts = dict(re.findall(r"^(\w+):\s*(.*)$", status, re.MULTILINE))
    root = [line.split()[3] for line in mounts.splitlines() if line.split()[1] == "/"]
    return facts | {"root": root[-1]}


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _environment(pid: int) -> list[str]:
    try:
        return Path("/proc", str(pid), "environ").read_text(errors="replace").split("\0")
    except OSError:
        return []


def _parent(pid: int) -> int:
    try:
        return int(Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0
