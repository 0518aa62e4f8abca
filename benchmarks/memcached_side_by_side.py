"""
Compares the tutorials' Memcached on handloop and on kopf: requests, restarts, lost watches, a foreign object.

    python benchmarks/memcached_side_by_side.py

Each operator runs in its own process, with its own sandbox, whose pods take a few seconds to become ready.
The requests are those that the sandbox receives: reads, watches and writes of objects. Reviews of the
operator's own permissions and requests for the server's documents are not counted.
"""

from __future__ import annotations

import argparse
import ast
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from tables import Row, Table, parse, write

from examples.memcached.types import Memcached, MemcachedSpec
from handloop.apis.conditions import find_condition
from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import FrozenMap, Kind, ObjectMeta
from handloop.client.config import load_config
from handloop.client.errors import NotFound
from handloop.client.resource_client import Client
from handloop.client.transport import HTTPTransport
from handloop.kinds.apps_v1 import Deployment, DeploymentSpec
from handloop.kinds.core_v1 import Container, Pod, PodSpec, PodTemplateSpec
from handloop.kinds.meta_v1 import LabelSelector
from handloop.testing.request_attributes import RequestAttributes
from handloop.testing.request_trace import RequestTrace
from handloop_sandbox.server import Sandbox

ROOT: Final = Path(__file__).parents[1]
KOPF: Final = ROOT / "benchmarks/peers/kopf_memcached.py"
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
US: Final = "side-by-side"
"""The user agent of this script."""
NAME: Final = "sample"
NAMESPACE: Final = "default"
START_SECONDS: Final = 4.0
QUIET_SECONDS: Final = 2.0
PAUSE_SECONDS: Final = 0.02
STEP_LIMIT_SECONDS: Final = 60.0


def lines(path: Path) -> int:
    """Return the number of lines in a file, without imports, docstrings, comments and empty lines."""
    text = path.read_text(encoding="utf-8")
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        told = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if told or isinstance(node, ast.Import | ast.ImportFrom):
            assert isinstance(node, ast.stmt)
            left_out.update(range(node.lineno, (node.end_lineno or 0) + 1))
    code = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
    return sum(bool(line) and not line.startswith("#") for number, line in code if number not in left_out)


OPERATORS: Final[dict[str, tuple[str, ...]]] = {
    "handloop": (
        *("-m", "examples.memcached", f"--namespace={NAMESPACE}", "-v0"),
        *("--metrics-bind-address=0", "--health-probe-bind-address=0"),
    ),
    "kopf": ("-m", "kopf", "run", str(KOPF), "--standalone", f"--namespace={NAMESPACE}"),
}
TYPES: Final = {
    "handloop": f"{lines(ROOT / 'examples/memcached/types.py')}: CRD and roles are generated from the code",
    "kopf": "none: CRD and roles are written by hand",
}
FILES: Final[dict[str, tuple[Path, ...]]] = {
    "handloop": (ROOT / "examples/memcached/reconciler.py", ROOT / "examples/memcached/__main__.py"),
    "kopf": (KOPF,),
}


class Stage:
    """A sandbox with one operator. The script reads the sandbox's state as an administrator."""

    def __init__(self, sandbox: Sandbox, operator: str, folder: Path) -> None:
        self.sandbox = sandbox
        self._operator = operator
        self._trace = RequestTrace(sandbox.engine, sandbox.token, user_agent="")
        self._kubeconfig = sandbox.write_kubeconfig(folder / "kubeconfig")
        transport = HTTPTransport(load_config(kubeconfig=str(self._kubeconfig)))
        self.client = Client(transport, user_agent=US)
        self._process: subprocess.Popen[bytes] | None = None
        self._log = (folder / "log").open("wb")

    def install(self) -> None:
        """Install the Memcached definition, and wait until it is served."""
        definition = json.dumps(custom_resource_definition(Memcached)).encode()
        headers = {"Content-Type": "application/json", "User-Agent": US}
        self.sandbox.transport().request("POST", CRDS, headers=headers, body=definition)
        until(self._is_served)

    def _is_served(self) -> bool:
        try:
            self.client.resource(Memcached).list(NAMESPACE)
        except NotFound:
            return False
        return True

    def start(self) -> None:
        """Start the operator, and wait until it watches Memcacheds."""
        before = len(self.asked())
        self._process = subprocess.Popen(
            [sys.executable, *OPERATORS[self._operator]],
            cwd=ROOT,
            env=os.environ | {"KUBECONFIG": str(self._kubeconfig), "PYTHONPATH": str(ROOT)},
            stdout=self._log,
            stderr=self._log,
        )
        until(lambda: any(is_watch_of(one, "memcacheds") for one in self.asked()[before:]))
        time.sleep(START_SECONDS)

    def stop(self) -> None:
        """Stop it as the kubelet does."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(STEP_LIMIT_SECONDS)
            self._process = None

    def asked(self) -> list[RequestAttributes]:
        """Return the operator's requests so far."""
        return [one for one in self._trace.asked() if not one.user_agent.startswith(US)]

    def find(self, kind: type[Kind]) -> Any:
        """The object of our name, or None."""
        try:
            return self.client.resource(kind).get(NAME, namespace=NAMESPACE)
        except NotFound:
            return None

    def delete(self, kind: type[Kind]) -> None:
        """Begin to delete our object of this kind."""
        self.client.resource(kind).delete(NAME, namespace=NAMESPACE)

    def delete_deployment(self) -> str:
        """Begin to delete it. Returns: its UID."""
        uid: str = self.find(Deployment).metadata.uid
        self.delete(Deployment)
        return uid

    def is_ready(self, size: int) -> bool:
        """Return whether the status names that many existing nodes and shows them as available."""
        found = self.find(Memcached)
        available = find_condition(found.status.conditions, "Available")
        pods = self.client.resource(Pod).list(NAMESPACE).items
        names = tuple(sorted(pod.metadata.name for pod in pods))
        return bool(
            len(names) == size
            and found.status.nodes == names
            and available is not None
            and (available.status, available.reason) == ("True", "Ready")
            and available.message.startswith(f"{size} of")
        )

    @contextmanager
    def counted(self) -> Iterator[Counter[str]]:
        """Count the operator's requests during the block, by verb and resource."""
        before = len(self.asked())
        counts: Counter[str] = Counter()
        yield counts
        counts.update(f"{one.verb} {one.resource}" for one in self.asked()[before:])


def is_watch_of(one: RequestAttributes, resource: str) -> bool:
    """Whether a request opens a watch."""
    return (one.verb, one.resource) == ("watch", resource)


def until(look: Callable[[], object], limit_seconds: float = STEP_LIMIT_SECONDS) -> float | None:
    """
    Wait until a condition is true.

    Returns: the seconds until then, or None if the limit was reached first.
    """
    began = time.monotonic()
    while time.monotonic() - began < limit_seconds:
        if look():
            return time.monotonic() - began
        time.sleep(PAUSE_SECONDS)
    return None


def seconds(taken: float | None) -> str:
    """A time as the table shows it."""
    return f"not in {STEP_LIMIT_SECONDS:g} s" if taken is None else f"{taken:.1f} s"


def requests(counts: Counter[str]) -> str:
    """Format requests as `3: create deployments 1, patch memcacheds 2; and 1 for Events`."""
    others = {name: count for name, count in counts.items() if not name.endswith(" events")}
    events = counts.total() - sum(others.values())
    told = ", ".join(f"{name} {count}" for name, count in sorted(others.items()))
    shown = f"{sum(others.values())}: {told}" if told else "0"
    return f"{shown}; and {events} for Events" if events else shown


def measure(stage: Stage, idle_seconds: float) -> Iterator[tuple[str, str]]:
    """Run one operator through all steps. Yields: a row of the table after each step."""
    memcacheds = stage.client.resource(Memcached)
    stage.start()
    with stage.counted() as counts:
        memcacheds.create(Memcached.named(NAME, namespace=NAMESPACE, spec=MemcachedSpec(size=3)))
        taken = until(lambda: stage.is_ready(3))
        time.sleep(QUIET_SECONDS)
    yield "creation, size 3: requests", requests(counts)
    yield "creation: until the status is right", seconds(taken)
    with stage.counted() as counts:
        memcacheds.patch(NAME, {"spec": {"size": 5}}, namespace=NAMESPACE)
        taken = until(lambda: stage.is_ready(5))
        time.sleep(QUIET_SECONDS)
    yield "scaling to 5: requests", requests(counts)
    yield "scaling: until the status is right", seconds(taken)
    with stage.counted() as counts:
        time.sleep(idle_seconds)
    yield f"idle for {idle_seconds:g} s: requests", requests(counts)
    stage.stop()
    with stage.counted() as counts:
        stage.start()
        time.sleep(idle_seconds)
    writes = Counter({name: count for name, count in counts.items() if is_write(name)})
    yield f"restart, then {idle_seconds:g} s idle: writes", requests(writes)
    yield from lost(stage)
    yield from foreign(stage, idle_seconds)


def is_write(name: str) -> bool:
    """Whether `create deployments` is one."""
    return name.partition(" ")[0] not in ("get", "list", "watch")


def lost(stage: Stage) -> Iterator[tuple[str, str]]:
    """Delete the Deployment while the operator watches, is down, or can neither list nor watch."""
    uid = stage.delete_deployment()
    yield "Deployment deleted: until it is recreated", seconds(until(lambda: replaced(stage, uid)))
    until(lambda: stage.is_ready(5))
    stage.stop()
    uid = stage.delete_deployment()
    stage.start()
    taken = until(lambda: replaced(stage, uid))
    yield "deleted while the operator is down", seconds(taken) if taken is None else "recreated at startup"
    until(lambda: stage.is_ready(5))
    for event in ("delayed", "lost"):
        taken = cut_off(stage, forget=event == "lost")
        yield f"deleted with watches cut, event {event}: from their return until recreated", seconds(taken)
        if taken is None:
            stage.stop()
            stage.start()
        until(lambda: stage.is_ready(5))


def replaced(stage: Stage, uid: str) -> bool:
    """Whether there is another Deployment."""
    found = stage.find(Deployment)
    return found is not None and found.metadata.uid != uid


def cut_off(stage: Stage, *, forget: bool) -> float | None:
    """
    Delete the Deployment while the operator can neither list nor watch.

    Args: with forget, no watch can begin before the deletion, as after a compaction of etcd.
    Returns: the seconds from the end of this time until a new Deployment exists.
    """
    for agent in {one.user_agent for one in stage.asked()}:
        stage.sandbox.faults.error(503, verbs=("list", "watch"), user_agent=agent)
        stage.sandbox.faults.drop_watches("cut", only_open=True, user_agent=agent)
    time.sleep(QUIET_SECONDS)
    uid = stage.delete_deployment()
    until(lambda: stage.find(Deployment) is None or replaced(stage, uid))
    if forget:
        stage.sandbox.faults.compact()
    stage.sandbox.faults.clear()
    return until(lambda: replaced(stage, uid))


def foreign(stage: Stage, idle_seconds: float) -> Iterator[tuple[str, str]]:
    """Create a foreign Deployment with the name that ours would have."""
    stage.delete(Memcached)
    yield "deletion: until everything is gone", seconds(until(lambda: not stage.find(Memcached)))
    until(lambda: not stage.find(Deployment))
    labels = FrozenMap({"app": "theirs"})
    containers = (Container(name="theirs", image="busybox:1.37"),)
    template = PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=PodSpec(containers=containers))
    spec = DeploymentSpec(replicas=0, selector=LabelSelector(match_labels=labels), template=template)
    deployments, memcacheds = stage.client.resource(Deployment), stage.client.resource(Memcached)
    theirs = deployments.create(Deployment.named(NAME, namespace=NAMESPACE, spec=spec))
    with stage.counted() as counts:
        memcacheds.create(Memcached.named(NAME, namespace=NAMESPACE, spec=MemcachedSpec(size=2)))
        time.sleep(idle_seconds)
    now = stage.find(Deployment)
    same = (now.metadata.uid, now.metadata.generation) == (theirs.metadata.uid, 1)
    told = find_condition(stage.find(Memcached).status.conditions, "Available")
    yield "foreign Deployment", "left alone" if same else "taken"
    yield "foreign Deployment: the status says", told.reason if told else "nothing"
    yield f"foreign Deployment: requests in {idle_seconds:g} s", requests(counts)
    stage.delete(Deployment)
    yield (
        "foreign Deployment deleted: until ours exists",
        seconds(
            until(lambda: (found := stage.find(Deployment)) and found.metadata.uid != theirs.metadata.uid)
        ),
    )


def table(results: dict[str, dict[str, str]]) -> str:
    """In Markdown: a column for each operator."""
    rows = [("", *results), ("---",) * (len(results) + 1)]
    rows += [(step, *(told[step] for told in results.values())) for step in next(iter(results.values()))]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def run(operator: str, idle_seconds: float) -> dict[str, str]:
    """All rows of one operator."""
    with tempfile.TemporaryDirectory() as folder, Sandbox() as sandbox:
        stage = Stage(sandbox, operator, Path(folder))
        stage.install()
        rows = {"lines of the program": str(sum(map(lines, FILES[operator])))}
        rows["lines of the types"] = TYPES[operator]
        try:
            for step, told in measure(stage, idle_seconds):
                print(f"{operator}: {step}: {told}", file=sys.stderr, flush=True)
                rows[step] = told
        finally:
            stage.stop()
        return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--idle-seconds", type=float, default=30.0)
    parser.add_argument("--only", nargs="*", choices=list(OPERATORS), default=list(OPERATORS))
    options = parse(parser, idle_seconds=0.5, only=["handloop"])
    results = {operator: run(operator, options.idle_seconds) for operator in options.only}
    versions = f"kopf {importlib.metadata.version('kopf')}, Python {platform.python_version()}"
    print(f"{versions}; {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}\n")
    print(table(results))
    steps: dict[str, Row] = {
        step: {name: told[step] for name, told in results.items()} for step in next(iter(results.values()))
    }
    write([Table("Memcached on handloop and on kopf", versions, steps)], options.json)


if __name__ == "__main__":
    main()
