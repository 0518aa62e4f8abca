"""
Tests three versions of a kind under load, while replicas are replaced and killed, and certificates change.

    PYTHONPATH=tests python -m soak.versions KUBECONFIG [OBJECTS [SECONDS]]

It reports how many requests were sent, which were refused, and whether every object finally has the content
that was written last, in each version. It also reports whether a migration that is killed several times
shortens storedVersions.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any, Final

from handloop.apis.converter import Converter
from handloop.apis.crd import WebhookService, custom_resource_definition
from handloop.testing.eventually import eventually
from soak.versions_balancer import Balancer
from soak.versions_operator import GROUP, NAME, VERSIONS, Crate
from support.servers.api_server import APPLY, MERGE, Answer, APIServer, endpoint_of

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
Object = dict[str, Any]

CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CRD: Final = f"{CRDS}/crates.{GROUP}"
SECRET: Final = f"/api/v1/namespaces/default/secrets/{NAME}-{GROUP.partition('.')[0]}"
CONVERTER: Final = Converter(Crate)
_THREADS: Final = 4
_OK: Final = 300


def free_port() -> int:
    """Return a port that is currently free."""
    with closing(socket.create_server(("127.0.0.1", 0))) as found:
        port: int = found.getsockname()[1]
        return port


class Replica:
    """One process of the operator."""

    def __init__(self, kubeconfig: str, balancer: Balancer, log: Path) -> None:
        self.port, self.health = free_port(), free_port()
        self._balancer = balancer
        url = f"https://127.0.0.1:{balancer.port}"
        command = [sys.executable, str(HERE / "versions_operator.py"), kubeconfig]
        arguments = [str(self.port), str(self.health), url]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "VERSIONS_GROUP": GROUP}
        with log.open("ab") as out:
            self.process = subprocess.Popen([*command, *arguments], env=environment, stdout=out, stderr=out)
        balancer.add(self.port, self.health)

    def is_ready(self) -> bool:
        """Return whether the balancer forwards connections to this replica."""
        return self.port in self._balancer.ready

    def kill(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.wait()
        self._balancer.leave(self.port)

    def stop(self) -> None:
        """Stop the process like a terminating pod: first end new connections, and then the process."""
        self._balancer.leave(self.port)
        time.sleep(0.3)
        self.process.terminate()
        self.process.wait(30)

    def pause(self, seconds: float) -> None:
        """Suspend the process for some seconds."""
        self.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.process.send_signal(signal.SIGCONT)


class Users:
    """
    Threads that write objects in all versions. Each has its own objects, and knows their expected content.

    State: objects, by thread, each object's expected content as v1, used only by that thread; refused,
    descriptions of refused requests and wrong answers; sent, the number of requests by sort.
    """

    def __init__(self, server: APIServer, namespace: str, count: int) -> None:
        self._server = server
        self._namespace = namespace
        self._stop = threading.Event()
        self.objects: list[dict[str, Object]] = [{} for _ in range(_THREADS)]
        self.refused: list[str] = []
        self.sent: Counter[str] = Counter()
        self._names = [
            [f"c{thread}-{number}" for number in range(count // _THREADS)] for thread in range(_THREADS)
        ]
        self._threads = [
            threading.Thread(target=self._work, args=(thread,), daemon=True) for thread in range(_THREADS)
        ]

    def collection(self, version: str) -> str:
        """Return the path of the objects in a version."""
        return f"/apis/{GROUP}/{version}/namespaces/{self._namespace}/crates"

    def fill(self, version: str, share: int, of: int) -> None:
        """Create one of `of` equal shares of the objects, in one version."""
        for thread, names in enumerate(self._names):
            for number, name in enumerate(names):
                if number % of == share:
                    self._create(thread, name, version, random.Random(name))

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop the threads, and wait for their end."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _work(self, thread: int) -> None:
        chance = random.Random(thread)
        while not self._stop.is_set():
            name = chance.choice(self._names[thread])
            version = chance.choice(VERSIONS).resource.version
            if name not in self.objects[thread]:
                self._create(thread, name, version, chance)
                continue
            act = chance.choice(
                [self._patch, self._patch, self._replace, self._apply, self._status, self._delete]
            )
            act(thread, name, version, chance)

    def _answered(self, what: str, answer: Answer, thread: int, name: str) -> bool:
        self.sent[what] += 1
        if answer.status < _OK:
            return True
        if answer.status == 429:
            self.sent["asked to wait"] += 1
            time.sleep(0.2)
            return False
        self.refused.append(f"{time.time():.3f} {what} {name}: {answer.status} {str(answer.body)[:300]}")
        self._look(thread, name)
        return False

    def _look(self, thread: int, name: str) -> None:
        """Read an object's content after a failed write, which the server may have executed."""
        for _ in range(100):
            answer = self._server.get(f"{self.collection('v1')}/{name}")
            if answer.status < _OK:
                self.objects[thread][name] = _fields(answer.body)
                return
            if answer.status == 404:
                self.objects[thread].pop(name, None)
                return
            time.sleep(0.1)

    def _keep(self, thread: int, name: str, answer: Answer) -> None:
        """Expect an object to have the content of the server's answer from now on."""
        self.objects[thread][name] = _fields(CONVERTER.convert(answer.body, f"{GROUP}/v1"))

    def _create(self, thread: int, name: str, version: str, chance: random.Random) -> None:
        body = {"apiVersion": f"{GROUP}/{version}", "kind": "Crate", "metadata": {"name": name}}
        body["spec"] = _spec(version, chance)
        answer = self._server.create(self.collection(version), body)
        if self._answered("create", answer, thread, name):
            self._keep(thread, name, answer)

    def _patch(self, thread: int, name: str, version: str, chance: random.Random) -> None:
        changed = chance.choice(list(_spec(version, chance).items()))
        answer = self._server.patch(f"{self.collection(version)}/{name}", {"spec": dict([changed])}, MERGE)
        if self._answered("patch", answer, thread, name):
            wanted = self._as(version, thread, name)
            wanted["spec"] |= dict([changed])
            self._expect(wanted, answer, name)
            self._keep(thread, name, answer)

    def _as(self, version: str, thread: int, name: str) -> Object:
        known = {"apiVersion": f"{GROUP}/v1", "kind": "Crate", "metadata": {"name": name}}
        return CONVERTER.convert({**known, **self.objects[thread][name]}, f"{GROUP}/{version}")

    def _expect(self, wanted: Object, answer: Answer, name: str) -> None:
        # An empty string means the same as a missing one.
        meant = {field: value for field, value in wanted["spec"].items() if value != ""}
        if meant != {field: value for field, value in answer.body["spec"].items() if value != ""}:
            self.refused.append(f"{name} is {answer.body['spec']}, not {wanted['spec']}")

    def _replace(self, thread: int, name: str, version: str, _chance: random.Random) -> None:
        """Read an object and write it back, which must not change it."""
        path = f"{self.collection(version)}/{name}"
        read = self._server.get(path)
        if self._answered("get", read, thread, name):
            written = self._server.update(path, read.body)
            if self._answered("replace", written, thread, name):
                if written.body["metadata"]["resourceVersion"] != read.body["metadata"]["resourceVersion"]:
                    stored = self._server.get(f"{self.collection('v1')}/{name}")
                    if stored.status < _OK and _fields(stored.body) != self.objects[thread][name]:
                        self.refused.append(
                            f"{name}: a round trip as {version} changed it: {_fields(stored.body)}"
                        )
                self._keep(thread, name, written)

    def _apply(self, thread: int, name: str, version: str, chance: random.Random) -> None:
        body = {"apiVersion": f"{GROUP}/{version}", "kind": "Crate", "metadata": {"name": name}}
        path = f"{self.collection(version)}/{name}?fieldManager=a{version}&force=true"
        answer = self._server.patch(path, {**body, "spec": _spec(version, chance)}, APPLY)
        if self._answered("apply", answer, thread, name):
            self._keep(thread, name, answer)

    def _status(self, thread: int, name: str, version: str, chance: random.Random) -> None:
        ready = chance.randrange(9)
        path = f"{self.collection(version)}/{name}/status"
        answer = self._server.patch(path, {"status": {"ready": ready}}, MERGE)
        if self._answered("status", answer, thread, name):
            wanted = self._as(version, thread, name)
            self._expect(wanted, answer, name)
            self._keep(thread, name, answer)

    def _delete(self, thread: int, name: str, version: str, chance: random.Random) -> None:
        if chance.random() > 0.2:
            return
        answer = self._server.delete(f"{self.collection(version)}/{name}")
        if self._answered("delete", answer, thread, name):
            self.objects[thread].pop(name, None)


def _spec(version: str, chance: random.Random) -> Object:
    host, port, size = chance.choice(["a", "b.example.org", ""]), chance.randint(1, 9), chance.randint(0, 3)
    if version == "v1alpha1":
        return {"address": f"{host}:{port}", "size": size}
    if version == "v1beta1":
        return {"host": host, "port": port, "replicas": size, "note": chance.choice(["n", "m"])}
    hosts = [host, "c"] if chance.random() < 0.5 else [host or "d"]
    return {"hosts": hosts, "port": port, "replicas": size, "note": chance.choice(["n", "m"])}


def _fields(obj: Object) -> Object:
    """Return an object's content, without the metadata, which differs between versions."""
    return {"spec": obj["spec"], "status": obj.get("status", {"ready": 0})}


def definition(url: str, stored: str) -> Object:
    """Return the CRD. Args: stored: the version in which objects are stored."""
    made = custom_resource_definition(Crate, WebhookService(url=url))
    for version in made["spec"]["versions"]:
        version["storage"] = version["name"] == stored
    return made


def store(server: APIServer, version: str) -> None:
    """Change the version in which the server stores objects."""
    made = definition("https://127.0.0.1:1", version)["spec"]["versions"]
    answer = server.patch(CRD, {"spec": {"versions": made}}, MERGE)
    assert answer.status < _OK, answer.body
    time.sleep(1)


def trouble(replicas: list[Replica], new: Any, until: float, told: Counter[str]) -> None:
    """Replace, kill and suspend replicas, one after the other, while another one is ready."""
    chance = random.Random(7)
    while time.time() < until:
        time.sleep(1.5)
        eventually(lambda: all(each.is_ready() for each in replicas), "ready", seconds=60)
        at = chance.randrange(len(replicas))
        act = chance.choice(["roll", "roll", "kill", "pause"])
        told[act] += 1
        if act == "pause":
            replicas[at].pause(3)
            continue
        if act == "roll":
            fresh = new()
            eventually(fresh.is_ready, "ready", seconds=60)
            replicas[at].stop()
        else:
            replicas[at].kill()
            told[f"killed at {time.time():.3f}"] += 1
            fresh = new()
        replicas[at] = fresh


def watch_rotation(server: APIServer, stop: threading.Event, seen: dict[str, set[str]]) -> None:
    """Collect the certificate authorities and certificates that are in use."""
    while not stop.wait(0.3):
        with suppress(OSError, KeyError, TypeError):
            data = server.get(SECRET).body["data"]
            for key in ("ca.key", "tls.crt"):
                seen.setdefault(key, set()).add(data[key])


def migrate(kubeconfig: str, kills: int) -> list[str]:
    """
    Migrate all stored objects, with a command that is killed several times.

    Returns: the lines that the last command printed.
    """
    command = [sys.executable, "-m", "controller", "migrate-storage", f"crates.{GROUP}", "--rate", "150"]
    for attempt in range(kills + 1):
        process = subprocess.Popen(
            [*command, "--kubeconfig", kubeconfig],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if attempt < kills:
            time.sleep(1.5 + attempt * 0.3)
            process.kill()
        said, _ = process.communicate()
        if attempt == kills:
            return said.splitlines()
    return []


def run(kubeconfig: str, count: int, seconds: float) -> dict[str, Any]:
    """Run the whole test. Returns: its results."""
    server = APIServer(endpoint_of(Path(kubeconfig)), real=True)
    namespace = f"versions-{uuid.uuid4().hex[:6]}"
    told: Counter[str] = Counter()
    seen: dict[str, set[str]] = {}
    log = Path(tempfile.gettempdir()) / "versions-operator.log"
    log.unlink(missing_ok=True)
    with ExitStack() as stack:
        balancer = Balancer()
        stack.callback(balancer.close)
        url = f"https://127.0.0.1:{balancer.port}"
        server.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        stack.callback(server.delete, f"/api/v1/namespaces/{namespace}")
        answer = server.create(CRDS, definition(url, "v1alpha1"))
        assert answer.status < _OK, answer.body
        stack.callback(remove, server)
        replicas = [Replica(kubeconfig, balancer, log) for _ in range(2)]
        stack.callback(kill_all, replicas)
        eventually(lambda: all(each.is_ready() for each in replicas), "ready", seconds=60)
        users = Users(server, namespace, count)
        users.fill("v1alpha1", 0, 3)
        store(server, "v1beta1")
        users.fill("v1beta1", 1, 3)
        store(server, "v1")
        users.fill("v1", 2, 3)
        stop = threading.Event()
        rotation = threading.Thread(target=watch_rotation, args=(server, stop, seen), daemon=True)
        rotation.start()
        users.start()
        trouble(replicas, lambda: Replica(kubeconfig, balancer, log), time.time() + seconds, told)
        users.stop()
        stop.set()
        rotation.join()
        eventually(lambda: all(each.is_ready() for each in replicas), "ready", seconds=60)
        wrong = compare(server, users)
        stored = server.get(CRD).body["status"]["storedVersions"]
        said = migrate(kubeconfig, 5)
        wrong += compare(server, users)
        return {
            "objects": sum(map(len, users.objects)),
            "sent": dict(users.sent),
            "refused": users.refused,
            "trouble": dict(told),
            "authorities": len(seen.get("ca.key", ())),
            "certificates": len(seen.get("tls.crt", ())),
            "wrong": wrong,
            "stored before": stored,
            "stored after": server.get(CRD).body["status"]["storedVersions"],
            "migration": said[-1:],
        }


def remove(server: APIServer) -> None:
    """Disable the CRD's conversion, which would block the deletion of namespaces, and delete the CRD."""
    server.patch(CRD, {"spec": {"conversion": {"strategy": "None", "webhook": None}}}, MERGE)
    server.delete(CRD)
    server.delete(SECRET)


def kill_all(replicas: list[Replica]) -> None:
    """End all processes."""
    for each in replicas:
        each.kill()


def compare(server: APIServer, users: Users) -> list[str]:
    """Return descriptions of the objects that differ from their expected content, in any version."""
    wrong = []
    for kind in VERSIONS:
        version = kind.resource.version
        # After a change of the CRD, the server answers 429 until it has read and converted all objects.
        items = server.eventually(users.collection(version), lambda answer: "items" in answer.body).body[
            "items"
        ]
        found = {one["metadata"]["name"]: _fields(CONVERTER.convert(one, f"{GROUP}/v1")) for one in items}
        known = {name: fields for mine in users.objects for name, fields in mine.items()}
        wrong += [f"{version} {name}: lost" for name in known if name not in found]
        wrong += [f"{version} {name}: not deleted" for name in found if name not in known]
        wrong += [
            f"{version} {name}: {found[name]}, not {fields}"
            for name, fields in known.items()
            if name in found and found[name] != fields
        ]
    return wrong


if __name__ == "__main__":
    OBJECTS = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 90
    sys.stdout.write(json.dumps(run(sys.argv[1], OBJECTS, SECONDS), indent=1) + "\n")
