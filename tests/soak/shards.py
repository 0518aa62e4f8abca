"""
Kills and suspends replicas with shards on a real control plane: `python -m soak.shards --seeds 200`.

Each seed plays a few changes by users, and one or two faults. A fault kills a replica's process, suspends it
for less or more than a Lease lasts, or asks it to stop, and another process follows. At the end, the server's
log is judged.

Exit codes: 0 = all invariants hold; 1 = an invariant is violated.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from statistics import median
from typing import Final

from handloop.apis.grammar.shard_selector import slot_of_namespace
from soak.judge import Finding, without_lease
from soak.plan import REPLICAS, Fault
from soak.record import Life, Record
from soak.replica import LEASE, Replica
from soak.run import LOG, control_plane
from soak.server_log import Entry, read
from support.rigs.program import ROOT
from support.servers.cluster import GROUP, NAMESPACES, Cluster, foo, usual_definition

SLOTS: Final = 8
SPACES: Final = tuple(f"soak-{number}" for number in range(12))
FOOS: Final = tuple((space, f"foo-{number}") for space in SPACES for number in range(2))
LEASE_SECONDS: Final = 4.0
SERVED_SECONDS: Final = LEASE_SECONDS + 5.0
"""The time in which a changed object must be reconciled, whatever happened to the holder of its slot."""
_ARGUMENTS: Final = (
    "--controllers=foo",
    f"--shards={SLOTS}",
    f"--leader-elect-resource-namespace={SPACES[0]}",
    f"--leader-elect-lease-duration={LEASE_SECONDS:g}s",
    "--leader-elect-renew-deadline=3s",
    "--leader-elect-retry-period=500ms",
)
_CHANGES: Final = 8
_CHANGES_SECONDS: Final = 4.0
_PATIENCE_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.2
_MARGIN_SECONDS: Final = 3.0
"""How much longer than guaranteed a reaction may take, because the machine is busy."""
_REFUSED: Final = 300


def main() -> int:
    """Play the seeds, and judge the log. Returns: the exit code."""
    given = _parser().parse_args()
    folder: Path = given.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with control_plane(given.controlplane.resolve(), folder, *SPACES, KCM="0", KUBELET="0") as kubeconfig:
        record = _play(kubeconfig, folder, range(given.seed, given.seed + given.seeds))
    findings = list(verdicts(record, list(read(folder / LOG))))
    for one in findings:
        lines = (f"{'no ' if one.wrong else 'yes'}  {one.invariant}: {one.figure}", *one.wrong[:10])
        sys.stdout.write("\n       ! ".join(lines) + "\n")
    return any(one.wrong for one in findings)


def _play(kubeconfig: Path, folder: Path, seeds: range) -> Record:
    cluster = Cluster(kubeconfig, SPACES[0], seconds=_PATIENCE_SECONDS)
    for space in SPACES:
        cluster.create(NAMESPACES, {"metadata": {"name": space}})
    cluster.install(usual_definition())
    for space, name in FOOS:
        cluster.create(_foos(space), foo(name, {"deploymentName": name, "replicas": 1}))
    record = Record(seeds[0], 0.0, time.time())
    replicas = [Replica(number, folder, cluster.transport, record, *_ARGUMENTS) for number in REPLICAS]
    try:
        _wait_until_settled(cluster, record, "at the start")
        for seed in seeds:
            _play_seed(seed, cluster, replicas)
            _wait_until_settled(cluster, record, f"seed {seed}")
    finally:
        for replica in replicas:
            replica.close()
        cluster.transport.close()
    return record


def _play_seed(seed: int, cluster: Cluster, replicas: Sequence[Replica]) -> None:
    chance, began = Random(seed), time.monotonic()
    moments: list[tuple[float, Fault | None]] = [
        (chance.uniform(0.0, _CHANGES_SECONDS), None) for _ in range(_CHANGES)
    ]
    for struck in chance.sample(replicas, 1 + (chance.random() < 0.3)):
        what = chance.choice(("kill", "stop", "stop", "term"))
        seconds = chance.uniform(1.0, 2 * LEASE_SECONDS)
        moments.append(
            (chance.uniform(0.0, 2.0), Fault(0.0, replicas.index(struck) + 1, what, seconds=seconds))
        )
    for at, fault in sorted(moments, key=lambda moment: moment[0]):
        time.sleep(max(0.0, began + at - time.monotonic()))
        if fault is None:
            space, name = chance.choice(FOOS)
            cluster.change(_foos(space), name, {"spec": {"replicas": chance.randint(1, 10)}})
        else:
            replicas[fault.replica - 1].strike(fault)


def _wait_until_settled(cluster: Cluster, record: Record, when: str) -> None:
    ends_at = time.monotonic() + _PATIENCE_SECONDS
    while left := _unsettled(cluster):
        if time.monotonic() > ends_at:
            record.unsettled.append(f"{when}: {', '.join(left)}")
            break
        time.sleep(_POLL_SECONDS)
    sys.stderr.write(f"{when}: {len(record.faults)} faults, {'unsettled' if left else 'settled'}\n")


def _unsettled(cluster: Cluster) -> list[str]:
    def replicas_of(path: str) -> dict[tuple[str, str], int]:
        items = cluster.call("GET", path)["items"]
        return {(o["metadata"]["namespace"], o["metadata"]["name"]): o["spec"]["replicas"] for o in items}

    wanted, found = replicas_of(f"{GROUP}/foos"), replicas_of("/apis/apps/v1/deployments")
    return ["/".join(name) for name, replicas in wanted.items() if found.get(name) != replicas]


def _foos(space: str) -> str:
    return f"{GROUP}/namespaces/{space}/foos"


def verdicts(record: Record, entries: Sequence[Entry]) -> Iterator[Finding]:
    """Check each invariant against the server's log, and yield the findings."""
    yield _one_writer(entries)
    yield _served(entries, [struck.at for struck in record.faults])
    faults = Counter(struck.fault.what for struck in record.faults)
    yield Finding(
        "every seed settles", ", ".join(f"{n} {what}" for what, n in faults.items()), record.unsettled
    )
    lives = [life for life in record.lives if life.tracebacks or not _ended_well(life)]
    wrong = [f"{life.agent} ended with {life.code} {life.tracebacks}" for life in lives]
    yield Finding("processes end as asked, or killed", f"{len(record.lives)} processes", wrong)


def _one_writer(entries: Sequence[Entry]) -> Finding:
    leases = defaultdict(list)
    for one in sorted(entries, key=lambda one: one.version):
        if one.resource == "leases" and one.is_write and one.code < _REFUSED:
            leases[one.name].append(one)
    writes = [one for one in entries if one.agent and one.is_write and one.code < _REFUSED]
    work = [one for one in writes if one.object_ref.resource in ("deployments", "foos")]
    wrong = []
    for one in work:
        slot = slot_of_namespace(one.object_ref.namespace, SLOTS)
        of_slot = leases[f"{LEASE}-slot-{slot}-of-{SLOTS}"]
        if why := without_lease(of_slot, one, seconds=LEASE_SECONDS):
            wrong.append(
                f"{one.agent} {one.verb} {one.resource} {one.object_ref.namespace}/{one.name}: {why}"
            )
    figure = f"{len(work)} writes, {len(writes) - len(work)} of Leases and Events"
    return Finding("only who has a slot's Lease writes for its names", figure, wrong)


def _ended_well(life: Life) -> bool:
    # A process that receives a SIGTERM before it handles signals ends with -15.
    return life.code in (0, -9) or (life.code == -15 and life.asked_to_stop < life.began + _MARGIN_SECONDS)


def _served(entries: Sequence[Entry], faults: Sequence[float]) -> Finding:
    """
    Judge how long after the change of a Foo its Deployment is updated, unless another change follows earlier.

    After a fault in the meantime, the time counts from the fault, which can strike the slot's new holder.
    """
    waiting: dict[tuple[str, str], Entry] = {}
    seconds, wrong, overtaken = [], [], 0
    for one in sorted(entries, key=lambda one: one.ended):
        name = one.object_ref.namespace, one.name
        if one.resource == "foos" and not one.agent and one.verb == "patch" and one.code < _REFUSED:
            overtaken += name in waiting
            waiting[name] = one
        elif one.resource == "deployments" and one.agent and _has_replicas_of(one, waiting.get(name)):
            changed = waiting.pop(name).ended
            seconds.append(one.ended - max([changed, *(at for at in faults if changed < at < one.ended)]))
            if seconds[-1] > SERVED_SECONDS + _MARGIN_SECONDS:
                wrong.append(f"{'/'.join(name)} after {seconds[-1]:.1f} s")
    took_all = f"after {median(seconds):.2f} s, at most {max(seconds):.1f} s" if seconds else "never"
    figure = f"{len(seconds)} changes, {took_all}, {overtaken} overtaken"
    return Finding(f"every name is served within {SERVED_SECONDS:g} s", figure, wrong)


def _has_replicas_of(write: Entry, change: Entry | None) -> bool:
    wanted = None if change is None else change.response_object.spec.replicas
    return wanted is not None and write.code < _REFUSED and write.response_object.spec.replicas == wanted


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="soak.shards")
    parser.add_argument("--seeds", type=int, default=200, help="how many seeds to play (200)")
    parser.add_argument("--seed", type=int, default=1, help="the first seed (1)")
    parser.add_argument(
        "--controlplane", type=Path, default=ROOT / "../shared/controlplane", help="folder of up and down"
    )
    parser.add_argument(
        "--folder", type=Path, default=ROOT / "build/soak-shards", help="for logs; emptied at the beginning"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
