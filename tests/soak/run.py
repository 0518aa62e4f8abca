"""Runs a soak, with a separate control plane, three replicas, users and faults."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from handloop.client.errors import TransportError
from soak.plan import REPLICAS, changes, faults
from soak.record import Record
from soak.replica import Replica
from soak.server_log import policy
from soak.users import Users
from support.servers.cluster import NAMESPACES, Cluster, RequestRefusedError, usual_definition

NAMESPACE: Final = "soak"
LOG: Final = "audit.log"
QUIET_SECONDS: Final = 70.0
"""The time of two resyncs."""
_PATIENCE_SECONDS: Final = 300.0
_SAMPLES_SECONDS: Final = 2.0


@contextmanager
def control_plane(scripts: Path, folder: Path, *namespaces: str, **parts: str) -> Iterator[Path]:
    """
    Return a context with a control plane, which logs requests to some namespaces in a folder.

    Args: scripts: the folder of its scripts; parts: environment variables for these, such as KCM="0".
    Yields: the path of an administrator's kubeconfig.
    """
    (folder / "audit-policy.yaml").write_text(policy(*namespaces), encoding="utf-8")
    (folder / LOG).unlink(missing_ok=True)
    log = f"--audit-policy-file={folder}/audit-policy.yaml --audit-log-path={folder}/{LOG}"
    ports = {
        f"{name}PORT": str(port)
        for name, port in zip(("", "ETCD_", "ETCD_PEER_", "KCM_"), _free_ports(4), strict=True)
    }
    environment = {
        **os.environ,
        **ports,
        **parts,
        "DIR": f"{folder}/controlplane",
        "APISERVER_ARGS": f"{log} --audit-log-maxsize=10000",
    }
    subprocess.run([scripts / "up"], env=environment, check=True, stdout=subprocess.DEVNULL)
    try:
        yield folder / "controlplane" / "kubeconfig"
    finally:
        subprocess.run([scripts / "down"], env=environment, check=True, stdout=subprocess.DEVNULL)


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in sockets]


def soak(kubeconfig: Path, folder: Path, *, seconds: float, seed: int) -> Record:
    """
    Play users and faults for some seconds, wait until all objects are in their final state and all is quiet,
    and delete the objects.

    Args: folder: an empty folder, for the processes' logs.
    Blocks: for about three minutes more. Raises: RequestRefusedError if the server refuses a request.
    """
    cluster = Cluster(kubeconfig, NAMESPACE, seconds=_PATIENCE_SECONDS)
    cluster.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
    users = Users(cluster)
    cluster.install(usual_definition())
    users.apps.install()
    record = Record(seed, seconds, time.time())
    arguments = (
        f"--namespace={NAMESPACE}",
        "--leader-elect",
        f"--leader-elect-resource-namespace={NAMESPACE}",
    )
    replicas = [Replica(number, folder, cluster.transport, record, *arguments) for number in REPLICAS]
    over = threading.Event()
    sampler = threading.Thread(target=_sample, args=(replicas, record, over), name="sampler")
    sampler.start()
    try:
        _play(record, users, replicas)
        record.ended = time.time()
        _settle(record, users)
        over.wait(QUIET_SECONDS)
        record.quiet_until = time.time()
        record.cached = _cached(replicas, users)
        users.delete_all()
        over.wait(_SAMPLES_SECONDS)  # until the watches have delivered the deletions
        record.kept = _cached(replicas, users)
    finally:
        over.set()
        sampler.join()
        for replica in replicas:
            replica.close()
            record.silences += replica.proxy.silences
        record.changes = dict(users.done)
    cluster.transport.close()
    return record


def _play(record: Record, users: Users, replicas: Sequence[Replica]) -> None:
    """Carry out the users' changes on another thread, and the faults on this one."""
    planned = faults(record.seed, record.seconds)
    changing = threading.Thread(target=_change, args=(record, users), name="users")
    changing.start()
    for number, fault in enumerate(planned, 1):
        time.sleep(max(0.0, record.began + fault.at - time.time()))
        replicas[fault.replica - 1].strike(fault)
        if number % 10 == 0 or number == len(planned):
            done = f"{fault.at:.0f} s: {number} of {len(planned)} faults, {users.done.total()} changes"
            sys.stderr.write(f"{done}, last: {fault.what} at replica {fault.replica}\n")
    changing.join()


def _change(record: Record, users: Users) -> None:
    for change in changes(record.seed, record.seconds):
        time.sleep(max(0.0, record.began + change.at - time.time()))
        try:
            users.do(change)
        except (RequestRefusedError, TransportError) as error:
            record.refused.append(str(error))


def _settle(record: Record, users: Users) -> None:
    """Wait until all objects are in their final state, for five minutes at most."""
    while record.settled < record.ended + _PATIENCE_SECONDS:
        record.unsettled, record.settled = users.unsettled(), time.time()
        if not record.unsettled:
            break
        time.sleep(0.5)
    sys.stderr.write(f"settled after {record.settled - record.ended:.1f} s: {record.unsettled or 'all'}\n")


def _sample(replicas: Sequence[Replica], record: Record, over: threading.Event) -> None:
    while not over.wait(_SAMPLES_SECONDS):
        record.samples += filter(None, (replica.sample() for replica in replicas))


def _cached(replicas: Sequence[Replica], users: Users) -> dict[str, int]:
    found = {
        f"replica {i}/{plural}": n for i, one in enumerate(replicas, 1) for plural, n in one.cached().items()
    }
    return found | users.counts()
