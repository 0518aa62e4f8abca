"""
A load generator: a loopback API server that sends pre-serialised 4 kB Deployments as fast as it can.

    python benchmarks/load_server.py --objects 10000 --events 50000

The server prints its port, and serves until its standard input is closed. With --stream it also serves
streamed lists (sendInitialEvents); otherwise it refuses them. It encodes nothing during a measurement: lists
are joined once per page size, and the watch consists of bytes that are ready to be sent.

As with a kube-apiserver, each watch event is a separate HTTP chunk. Events are sent in bursts of 64. With
--pause-us, each event is sent alone, that many microseconds after the previous one, and wakes the client.
With --stamp, its object's generation is the time at which it is sent, in nanoseconds of time.time_ns().
"""

from __future__ import annotations

import argparse
import json
import re
import socket
import sys
import threading
import time
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs, urlsplit

OBJECT_BYTES = 4096
NAMESPACES = 10
EVENTS_PER_BURST = 64
UNSTAMPED = 10**18
"""A generation with as many digits as a time stamp."""


def deployment(number: int, resource_version: int, *, generation: int = 3) -> dict[str, Any]:
    """Return a realistic Deployment, padded to 4 kB with the annotation that kubectl apply writes."""
    name, namespace = f"app-{number:06d}", f"team-{number % NAMESPACES}"
    labels = {"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": "helm", "team": namespace}
    obj: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"00000000-0000-4000-8000-{number:012d}",
            "resourceVersion": str(resource_version),
            "generation": generation,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": labels,
            "annotations": {"deployment.kubernetes.io/revision": "3"},
            "ownerReferences": [
                {
                    "apiVersion": "samplecontroller.k8s.io/v1alpha1",
                    "kind": "Foo",
                    "name": name,
                    "uid": f"00000000-0000-4000-9000-{number:012d}",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            "managedFields": [
                {
                    "manager": "kube-controller-manager",
                    "operation": "Update",
                    "apiVersion": "apps/v1",
                    "time": "2026-01-01T00:00:00Z",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {
                        "f:status": {f"f:{part}": {} for part in ("availableReplicas", "readyReplicas")}
                    },
                    "subresource": "status",
                }
            ],
        },
        "spec": {
            "replicas": 3,
            "revisionHistoryLimit": 10,
            "progressDeadlineSeconds": 600,
            "selector": {"matchLabels": {"app.kubernetes.io/name": name}},
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
            },
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "containers": [
                        {
                            "name": "app",
                            "image": "nginx:1.27",
                            "imagePullPolicy": "IfNotPresent",
                            "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
                            "env": [{"name": f"SETTING_{i}", "value": f"value-{i}"} for i in range(8)],
                            "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
                            "terminationMessagePath": "/dev/termination-log",
                            "terminationMessagePolicy": "File",
                        }
                    ],
                    "restartPolicy": "Always",
                    "terminationGracePeriodSeconds": 30,
                    "dnsPolicy": "ClusterFirst",
                    "schedulerName": "default-scheduler",
                    "securityContext": {},
                },
            },
        },
        "status": {
            "observedGeneration": 3,
            "replicas": 3,
            "updatedReplicas": 3,
            "readyReplicas": 3,
            "availableReplicas": 3,
            "conditions": [
                {
                    "type": kind,
                    "status": "True",
                    "reason": reason,
                    "message": f'ReplicaSet "{name}-5f6d7c8b9" has successfully progressed.',
                    "lastUpdateTime": "2026-01-01T00:00:00Z",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
                for kind, reason in (
                    ("Available", "MinimumReplicasAvailable"),
                    ("Progressing", "NewReplicaSetAvailable"),
                )
            ],
        },
    }
    missing = OBJECT_BYTES - len(_encode(obj)) - len(',"kubectl.kubernetes.io/last-applied-configuration":""')
    obj["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = "x" * max(missing, 0)
    return obj


def _encode(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


class Load:
    """The objects, and the responses with them. Each response is built once."""

    def __init__(
        self,
        objects: int,
        events: int,
        *,
        stream: bool = False,
        pause_seconds: float = 0,
        stamp: bool = False,
    ) -> None:
        self.objects = objects
        self.events = events
        self.stream = stream
        self.pause_seconds = pause_seconds
        self.stamp = stamp
        self._items = [_encode(deployment(number, number + 1)) for number in range(objects)]

    @lru_cache(maxsize=128)  # noqa: B019 - one instance, as long-lived as the process
    def page(self, start: int, limit: int) -> bytes:
        """One list page; limit 0 is all."""
        end = min(start + limit, self.objects) if limit else self.objects
        metadata: dict[str, Any] = {"resourceVersion": str(self.objects)}
        if end < self.objects:
            metadata |= {"continue": str(end), "remainingItemCount": self.objects - end}
        head = b'{"kind":"DeploymentList","apiVersion":"apps/v1","metadata":' + _encode(metadata)
        return head + b',"items":[' + b",".join(self._items[start:end]) + b"]}"

    def lines(self) -> list[bytes]:
        """Return the events of the watch: MODIFIED for all objects in turn."""
        generation = UNSTAMPED if self.stamp else 3
        bodies = (
            _encode(deployment(event % self.objects, self.objects + event + 1, generation=generation))
            for event in range(self.events)
        )
        return [_line(b"MODIFIED", body) for body in bodies]

    @lru_cache(maxsize=1)  # noqa: B019 - the same
    def changes(self) -> list[bytes]:
        """Return the watch as it is sent: in bursts, or in single events if there is a pause between them."""
        return _bursts(self.lines(), 1 if self.pause_seconds else EVENTS_PER_BURST)

    @lru_cache(maxsize=1)  # noqa: B019 - the same
    def initial(self) -> list[bytes]:
        """Return a streamed list: ADDED events for all objects, and the bookmark that ends the list."""
        metadata = {
            "resourceVersion": str(self.objects),
            "annotations": {"k8s.io/initial-events-end": "true"},
        }
        bookmark = _encode({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata})
        lines = [*(_line(b"ADDED", item) for item in self._items), _line(b"BOOKMARK", bookmark)]
        return _bursts(lines, EVENTS_PER_BURST)


def _line(event_type: bytes, body: bytes) -> bytes:
    return b'{"type":"' + event_type + b'","object":' + body + b"}\n"


def _bursts(lines: list[bytes], size: int) -> list[bytes]:
    """Return the lines as HTTP chunks, in groups of this size."""
    chunks = [b"%x\r\n%b\r\n" % (len(line), line) for line in lines]
    return [b"".join(chunks[at : at + size]) for at in range(0, len(chunks), size)]


def _serve(connection: socket.socket, load: Load) -> None:
    """Answer the requests on one connection until the client closes it."""
    with connection, connection.makefile("rb") as reader:
        while line := reader.readline():
            while reader.readline() not in (b"\r\n", b""):
                pass
            url = urlsplit(line.split()[1].decode())
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            if not url.path.endswith("/deployments"):
                _answer(connection, 404, _status(404, "NotFound"))
            elif "sendInitialEvents" in query and not load.stream:
                # All subjects list in pages, so that the benchmark compares clients and not two ways of
                # listing.
                _answer(connection, 422, _status(422, "Invalid"))
            elif query.get("watch") in ("true", "True", "1"):
                if "sendInitialEvents" in query:
                    _watch(connection, load.initial())
                else:
                    _watch(connection, load.changes(), load.pause_seconds, stamp=load.stamp)
                return
            else:
                start, limit = int(query.get("continue", "0")), int(query.get("limit", "0"))
                _answer(connection, 200, load.page(start, limit))


def _status(code: int, reason: str) -> bytes:
    return _encode({"kind": "Status", "status": "Failure", "code": code, "reason": reason})


def _answer(connection: socket.socket, status: int, body: bytes) -> None:
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    connection.sendall(head.encode() + body)


def _watch(
    connection: socket.socket, bursts: list[bytes], pause_seconds: float = 0, *, stamp: bool = False
) -> None:
    """Send all events, as fast as possible or with pauses, and then nothing until the client disconnects."""
    connection.sendall(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    for burst in bursts:
        if pause_seconds:
            time.sleep(pause_seconds)
        connection.sendall(burst.replace(b"%d" % UNSTAMPED, b"%d" % time.time_ns()) if stamp else burst)
    connection.recv(1)


def _safely(connection: socket.socket, load: Load) -> None:
    try:
        _serve(connection, load)
    except OSError as error:
        if not re.search("reset|pipe", str(error), re.IGNORECASE):
            raise


def main() -> None:
    """Serve until standard input ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--events", type=int, default=50_000)
    parser.add_argument("--stream", action="store_true", help="serve streamed lists, too")
    parser.add_argument("--pause-us", type=float, default=0, help="send each event alone, after a pause")
    parser.add_argument("--stamp", action="store_true", help="write the send time into each object")
    options = parser.parse_args()
    load = Load(
        options.objects,
        options.events,
        stream=options.stream,
        pause_seconds=options.pause_us / 1e6,
        stamp=options.stamp,
    )
    for limit in (0, 500):
        for start in range(0, options.objects, limit or options.objects):
            load.page(start, limit)
    load.changes()
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(server.getsockname()[1], flush=True)

        def accept() -> None:
            while True:
                connection, _ = server.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=_safely, args=(connection, load), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        sys.stdin.read()


if __name__ == "__main__":
    main()
