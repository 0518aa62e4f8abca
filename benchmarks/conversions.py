"""
Measures what a conversion webhook costs an API server's clients, compared with the stored version.

    python benchmarks/conversions.py --kubeconfig ~/.kube/config --objects 500 --rounds 300

The benchmark creates its own definition and namespace, and starts subjects/cron_jobs.py, which converts. The
namespace is not deleted. With --definition and --versions, it measures the conversions of another program
that is already running, with the same objects in that program's group.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))

import msgspec
import yaml
from tables import Row, Table, emit, medians, parse

from handloop.client.config import load_config
from handloop.client.transport import HTTPTransport

HERE: Final = Path(__file__).parent
PROGRAM: Final = (sys.executable, str(HERE / "subjects/cron_jobs.py"))
OWN: Final = "cronjobs.batch.benchmark.example.com"
NAMESPACE: Final = "handloop-conversions"
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SECONDS: Final = 60.0
WRITE: Final = {"Content-Type": "application/apply-patch+yaml"}
CONTAINER: Final = {
    "name": "hello",
    "image": "busybox",
    "args": ["/bin/sh", "-c", "date; echo Hello from the cluster"],
    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
}
POD: Final = {
    "containers": [CONTAINER],
    "restartPolicy": "OnFailure",
    "securityContext": {
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "seccompProfile": {"type": "RuntimeDefault"},
    },
}
SPEC: Final = {
    "schedule": "*/5 2 * * 1",
    "startingDeadlineSeconds": 60,
    "concurrencyPolicy": "Allow",
    "jobTemplate": {"spec": {"template": {"spec": POD}}},
}


class Served:
    """The objects, in the stored version and in the converted version."""

    def __init__(self, transport: HTTPTransport, definition: str, versions: tuple[str, str]) -> None:
        self._transport = transport
        self._definition = definition
        plural, _, group = definition.partition(".")
        self._api = f"{group}/{versions[0]}"
        self.paths = [f"/apis/{group}/{version}/namespaces/{NAMESPACE}/{plural}" for version in versions]

    def ask(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        """Raises: RuntimeError when the server refuses."""
        content = None if body is None else msgspec.json.encode(body)
        headers = WRITE if method == "PATCH" else {}
        answer = self._transport.request(method, path, query=query, headers=headers, body=content)
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {answer.body.decode()}")
        return msgspec.json.decode(answer.body)

    def apply(self, path: str, **obj: Any) -> None:
        """Create an object, or update it to the given content."""
        self.ask("PATCH", path, obj, fieldManager="conversions", force="true")

    def wait(self, ask: Callable[[], Any]) -> None:
        """Wait until the server answers as expected. Raises: RuntimeError or KeyError at the deadline."""
        ends_at = time.monotonic() + SECONDS
        while True:
            try:
                ask()
            except (RuntimeError, KeyError):
                if time.monotonic() > ends_at:
                    raise
                time.sleep(0.05)
            else:
                return

    def wait_lists(self) -> None:
        """Until both versions are listed."""
        for path in self.paths:
            self.wait(partial(self.ask, "GET", path))

    @contextmanager
    def objects(self, count: int) -> Iterator[None]:
        """Create this number of objects in a new namespace."""
        self.apply(
            f"/api/v1/namespaces/{NAMESPACE}", apiVersion="v1", kind="Namespace", metadata={"name": NAMESPACE}
        )
        try:
            for number in range(count):
                name = f"hello-{number}"
                metadata = {"name": name, "labels": {"team": "a"}}
                self.apply(
                    f"{self.paths[0]}/{name}",
                    apiVersion=self._api,
                    kind="CronJob",
                    metadata=metadata,
                    spec=SPEC,
                )
            yield
        finally:
            self.ask("DELETE", self.paths[0])

    def forget(self) -> dict[str, str]:
        """
        Make the server rebuild its caches.

        Returns: a query for a list in an earlier state, which the server can only read from etcd.
        """
        version = self.ask("GET", self.paths[0], limit="1")["metadata"]["resourceVersion"]
        path = f"{CRDS}/{self._definition}"
        names = self.ask("GET", path)["spec"]["names"]
        body = [{"op": "add", "path": "/spec/names/categories", "value": ["measured"]}]
        if "categories" in names:
            body = [{"op": "remove", "path": "/spec/names/categories"}]
        headers = {"Content-Type": "application/json-patch+json"}
        self._transport.request("PATCH", path, headers=headers, body=msgspec.json.encode(body))
        self.wait_lists()
        return {"resourceVersion": version, "resourceVersionMatch": "Exact"}

    def milliseconds(self, path: str, query: Mapping[str, str]) -> float:
        """
        Return the duration of one GET, including reading the response, but not decoding it.

        The request is repeated while the server fills a cache.
        """
        while True:
            started = time.perf_counter()
            answer = self._transport.request("GET", path, query=query)
            took = (time.perf_counter() - started) * 1e3
            if answer.status == 200:
                return took
            if answer.status != 429:
                raise RuntimeError(f"GET {path}: {answer.status} {answer.body.decode()}")
            time.sleep(0.05)

    def row(self, suffix: str, rounds: int, query: Mapping[str, str] = {}) -> Row:
        """Return the medians of both versions, and the median of their differences, computed per round."""
        laps = []
        for _ in range(rounds):
            stored, converted = (self.milliseconds(f"{path}{suffix}", query) for path in self.paths)
            laps.append({"stored ms": stored, "converted ms": converted, "more ms": converted - stored})
        return medians(laps)


@contextmanager
def own_program(served: Served, kubeconfig: str | None) -> Iterator[None]:
    """The definition, and what converts."""
    named = ["--kubeconfig", kubeconfig] if kubeconfig else []
    flags = [
        "--webhook-bind-address=127.0.0.1:0",
        "--webhook-url=https://127.0.0.1:0",
        "--metrics-bind-address=0",
    ]
    flags += ["--health-probe-bind-address=0", "--leader-elect-resource-namespace=default"]
    definition = yaml.safe_load(subprocess.check_output([*PROGRAM, "crd"]))
    path = f"{CRDS}/{OWN}"
    command = [*PROGRAM, *named, *flags]
    served.apply(path, **definition)
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as program:
        try:
            yield
        finally:
            program.terminate()
            program.wait()
            served.ask("DELETE", path)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubeconfig")
    parser.add_argument("--objects", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument(
        "--definition", default=OWN, help=("the cronjobs in another group belong to another program")
    )
    parser.add_argument("--versions", nargs=2, default=("v1", "v1beta1"), help="the stored one, and another")
    arguments = parse(parser, objects=5, rounds=2)
    with closing(HTTPTransport(load_config(kubeconfig=arguments.kubeconfig))) as transport:
        served = Served(transport, arguments.definition, tuple(arguments.versions))
        if arguments.definition != OWN:
            rows = measured(served, arguments)
        else:
            with own_program(served, arguments.kubeconfig):
                rows = measured(served, arguments)
    setting = f"{arguments.objects} objects, medians of {arguments.rounds} rounds, each version in turn"
    emit([Table("Conversions", setting, rows)], arguments.json)


def measured(served: Served, arguments: argparse.Namespace) -> dict[str, Row]:
    """The rows."""
    lists = max(1, arguments.rounds // 10)
    served.wait_lists()
    with served.objects(arguments.objects):
        # The new certificate may not have arrived yet, and the server rebuilds its caches.
        served.wait(partial(served.ask, "GET", f"{served.paths[1]}/hello-0"))
        served.wait_lists()
        rows = {"GET": served.row("/hello-0", arguments.rounds)}
        rows["LIST, from the server's cache"] = served.row("", lists)
        if not arguments.smoke:  # a sandbox cannot list a past state
            rows["LIST, from etcd"] = served.row("", lists, served.forget())
    return rows


if __name__ == "__main__":
    main()
