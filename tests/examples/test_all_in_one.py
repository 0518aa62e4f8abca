"""examples/all_in_one: the four examples in one process, killed at any moment, in any namespaces, in turn."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from examples.appcluster.types import AppCluster, AppClusterSpec
from examples.memcached.types import Memcached, MemcachedSpec
from examples.sample.types import Sample
from handloop.apis.meta import Kind, controller_of
from handloop.kinds.apps_v1 import Deployment
from handloop.kinds.core_v1 import ConfigMap, Namespace, Pod
from support.rigs.example_cluster import ExampleCluster
from support.rigs.program import ON_FREE_PORTS, Program, running

KINDS: Final = (Sample, AppCluster, Memcached)
MODULE: Final = "examples.all_in_one"
WRITTEN: Final[tuple[type[Kind], ...]] = (AppCluster, Memcached, Deployment, Pod)
CONTROLLERS: Final = ("sample", "plain", "appcluster", "memcached")
IN_THE_SUITE: Final = {("sandbox", 5), ("real", 9)}
"""Server and seed: 5 kills while children are deleted by hand, 9 while all is deleted. Others are nightly."""
GIVEN_UP: Final = (
    "given up after 5 retries: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"
)
LEASE_SECONDS: Final = 6
RENEW_SECONDS: Final = 4
"""Short, but not so short that a busy machine makes a leader lose its lease."""
MOST_SECONDS: Final = 0.6
"""About as long as a program is at work on a step, on an idle machine."""


@contextmanager
def program(cluster: ExampleCluster, folder: Path, *flags: str) -> Iterator[Program]:
    """The program in the cluster's namespace, at work on resyncs each second."""
    arguments = ("--kubeconfig", str(cluster.kubeconfig), "-n", cluster.namespace, "--resync=1s")
    with running(*arguments, *ON_FREE_PORTS, *flags, folder=folder, module=MODULE) as started:
        yield started


def wait_at_work(started: Program) -> None:
    """Wait until the last of its controllers has begun."""
    started.wait_line('"Starting workers" controller="memcached"')


def pods_of(cluster: ExampleCluster, kind: type[Kind]) -> list[str]:
    """The names of the Pods that stay, and are controlled by objects of a kind."""
    found = {
        pod.metadata.name: owner.kind
        for pod in cluster.all(Pod)
        if (owner := controller_of(pod)) and pod.metadata.deletion_timestamp is None
    }
    return [name for name, owner in found.items() if owner == kind.resource.kind]


class State(NamedTuple):
    """The results of the four objects; told is the last line of the Sample and of the ConfigMap."""

    pods: int
    nodes: int
    told: tuple[str, str]


def state(cluster: ExampleCluster, started: Program) -> State:
    """As it is; nodes is -1 while the status does not name all Pods of the Deployment, and no other."""
    cache = cluster.get(Memcached, "cache")
    deployment = cluster.get(Deployment, "cache")
    nodes = [pod.metadata.name for pod in cluster.all(Pod) if pod.metadata.name.startswith("cache-")]
    equal = cache and deployment and list(cache.status.nodes) == nodes
    known = len(nodes) if equal and deployment and deployment.spec.replicas == len(nodes) else -1
    return State(
        pods=len(pods_of(cluster, AppCluster)),
        nodes=known if cache or deployment or nodes else 0,
        told=(told(cluster, started, "text"), told(cluster, started, "settings")),
    )


def told(cluster: ExampleCluster, started: Program, name: str) -> str:
    """The last line about an object; of a changed text the new one."""
    begin = f"{cluster.namespace}/{name}: "
    lines = [line.removeprefix(begin) for line in started.printed if line.startswith(begin)]
    return lines[-1].rpartition(" -> ")[2] if lines else ""


def begin(cluster: ExampleCluster) -> None:
    """Create one of each."""
    cluster.create(Sample.named("text", test_string="a"))
    cluster.create(ConfigMap.named("settings", data={"a.json": "{}"}))
    cluster.create(AppCluster.named("web", spec=AppClusterSpec(size=2)))
    cluster.create(Memcached.named("cache", spec=MemcachedSpec(size=2)))


def grow(cluster: ExampleCluster) -> None:
    """Change all, and scale up."""
    cluster.patch(Sample, "text", testString="b")
    cluster.patch(ConfigMap, "settings", data={"b.json": "{"})
    cluster.patch(AppCluster, "web", spec={"size": 5})
    cluster.patch(Memcached, "cache", spec={"size": 3})


def shrink(cluster: ExampleCluster) -> None:
    """Scale down, and delete children by hand."""
    cluster.patch(ConfigMap, "settings", data={"b.json": "{}"})
    cluster.patch(AppCluster, "web", spec={"size": 3})
    cluster.patch(Memcached, "cache", spec={"size": 1})
    for name in pods_of(cluster, AppCluster)[:1]:
        cluster.delete(Pod, name, grace_period_seconds=0)
    cluster.delete(Deployment, "cache")


def end(cluster: ExampleCluster) -> None:
    """Delete all."""
    cluster.delete(Sample, "text")
    cluster.delete(ConfigMap, "settings")
    cluster.delete(AppCluster, "web")
    cluster.delete(Memcached, "cache")


LIFE: Final[tuple[tuple[Callable[[ExampleCluster], None], State], ...]] = (
    (begin, State(pods=2, nodes=2, told=("a", "a.json"))),
    (grow, State(pods=5, nodes=3, told=("b", GIVEN_UP))),
    (shrink, State(pods=3, nodes=1, told=("b", "a.json, b.json"))),
    (end, State(pods=0, nodes=0, told=("b", "a.json, b.json"))),
)


def marks(server: str, seed: int | None) -> list[pytest.MarkDecorator]:
    """What a run needs, and when it is made."""
    nightly = [] if (server, seed) in IN_THE_SUITE else [pytest.mark.nightly]
    return [*nightly, *([pytest.mark.real] if server == "real" else [])]


RUNS: Final = [
    pytest.param(server, seed, marks=marks(server, seed))
    for server, seed in product(("sandbox", "real"), (None, *range(1, 23)))
]


@pytest.mark.parametrize(("cluster", "seed"), RUNS, indirect=["cluster"])
def test_killed_at_a_random_moment_it_ends_where_it_ends_undisturbed(
    cluster: ExampleCluster, seed: int | None, tmp_path: Path
) -> None:
    """Seed None is undisturbed. Each step ends in the same state, and nothing is written then."""
    chance = random.Random(seed)
    killed_in = None if seed is None else chance.randrange(len(LIFE))
    seconds = chance.uniform(0, MOST_SECONDS)
    cluster.follow("all-in-one")
    try:
        live_through(cluster, tmp_path, killed_in, seconds)
    except AssertionError as error:
        where = "sandbox" if cluster.sandbox else "real"
        error.add_note(
            f"killed {seconds:.3f} s after the begin of step {killed_in}; to replay: pytest -m '' "
            f"tests/examples/test_all_in_one.py -k 'killed and {where}-{seed}'"
        )
        raise


def live_through(cluster: ExampleCluster, folder: Path, killed_in: int | None, seconds: float) -> None:
    """The life of all objects; some seconds into one step the program is killed, and another one begins."""
    with ExitStack() as stack:
        started = stack.enter_context(program(cluster, folder))
        wait_at_work(started)
        for step, (do, wanted) in enumerate(LIFE):
            do(cluster)
            if step == killed_in:
                time.sleep(seconds)
                started.kill()
                started = stack.enter_context(program(cluster, folder))
            wait_for_state(cluster, started, wanted)
            if do is shrink:
                cluster.assert_quiet_while(partial(reconciles, started), *WRITTEN)
        cluster.eventually(lambda: not any(cluster.all(kind) for kind in WRITTEN), "gone")
        if killed_in != len(LIFE) - 1:  # else no process may have seen them go
            gone = {f"{cluster.namespace}/{name} is gone" for name in ("text", "settings")}
            cluster.eventually(lambda: gone <= set(started.printed), f"{gone}")
        wait_at_work(started)  # before that a signal ends it at once
        assert started.stop() == 0


def wait_for_state(cluster: ExampleCluster, started: Program, wanted: State) -> None:
    """Wait until all is as wanted; fails with the present state."""
    seen: list[State] = []

    def is_wanted() -> bool:
        seen[:] = [state(cluster, started)]
        return seen == [wanted]

    try:
        cluster.eventually(is_wanted, f"{wanted}")
    except AssertionError as error:
        error.add_note(f"it is {seen}")
        raise


def reconciles(started: Program) -> float:
    """How often each controller of the runtime has succeeded, at least."""
    totals = [metric(started, "controller_runtime_reconcile_total", each) for each in CONTROLLERS[2:]]
    return min(totals)


def metric(started: Program, name: str, controller: str) -> float:
    """The sum of a metric of one controller, over its other labels; queues name it `name`."""
    _, page = started.page("metrics", "/metrics")
    lines = re.findall(
        rf'^{name}{{[^}}]*(?:controller|name)="{controller}"[^}}]*}} (\S+)$', page, re.MULTILINE
    )
    return sum(map(float, lines))


def test_several_namespaces_and_metrics_by_controller(sandbox: ExampleCluster, tmp_path: Path) -> None:
    """Two namespaces are served, a third is not; each controller has its workers, and its own figures."""
    administrator = sandbox.client
    for namespace in ("second", "third"):
        administrator.resource(Namespace).create(Namespace.named(namespace))
    for namespace in ("third", "default", "second"):
        web = AppCluster.named("web", spec=AppClusterSpec(size=1))
        administrator.resource(AppCluster).create(web, namespace=namespace)
        administrator.resource(Sample).create(Sample.named("text", test_string="a"), namespace=namespace)
    with program(sandbox, tmp_path, "-n", "default,second", "--workers=3") as started:
        sandbox.eventually(lambda: set(started.printed) >= {"default/text: a", "second/text: a"}, "printed")
        pods = administrator.resource(Pod)
        sandbox.eventually(lambda: all(pods.list(each).items for each in ("default", "second")), "2 Pods")
        assert not pods.list("third").items
        assert "third/text: a" not in started.printed
        for controller in CONTROLLERS[2:]:
            assert metric(started, "controller_runtime_max_concurrent_reconciles", controller) == 3
        # a reconcile is counted when it has ended, after its Pod was made
        reconciled = partial(metric, started, "controller_runtime_reconcile_total")
        sandbox.eventually(lambda: reconciled("appcluster") >= 2, "counted")
        assert reconciled("memcached") == 0
        sandbox.eventually(lambda: metric(started, "workqueue_adds_total", "plain") >= 1, "queued")
        assert started.stop() == 0


def test_a_standby_takes_over_after_kill_9(cluster: ExampleCluster, tmp_path: Path) -> None:
    """One of two replicas works; the other begins once the lease of a killed one is over. All namespaces."""
    flags = [
        "--leader-elect",
        f"--leader-elect-resource-namespace={cluster.namespace}",
        f"--leader-elect-lease-duration={LEASE_SECONDS}s",
        f"--leader-elect-renew-deadline={RENEW_SECONDS}s",
        "--leader-elect-retry-period=500ms",
        *(["-A"] if cluster.sandbox else []),
    ]
    with program(cluster, tmp_path, *flags) as leader:
        wait_at_work(leader)
        with program(cluster, tmp_path, *flags) as standby:
            standby.wait_line("standby: lease")
            begin(cluster)
            wait_for_state(cluster, leader, LIFE[0][1])
            assert not standby.lines_with('"Starting workers"')
            leader.kill()
            grow(cluster)
            wait_for_state(cluster, standby, LIFE[1][1])
            assert standby.stop() == 0
