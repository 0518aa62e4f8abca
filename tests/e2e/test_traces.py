"""Our spans joined with those of a real server: CONTRIBUTING.md says how it has to be set up."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from handloop.apis.meta import FrozenMap, ObjectMeta
from handloop.client.config import load_config
from handloop.client.resource_client import Client
from handloop.client.transport import HTTPTransport
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.reconciling.context import Context
from handloop.informers.keys import ObjectName
from handloop.kinds.core_v1 import ConfigMap, Secret
from handloop.testing.eventually import eventually as until
from handloop.testing.manager_thread import ManagerThread
from support.rigs.traced import THEIRS, traced
from support.servers.cluster import RBAC, RealCluster, token_kubeconfig
from support.servers.collector import Collected, Collector, collector
from support.servers.service_account import create_account, token_of
from support.servers.turns import turn

PORT = 24317
SERVER_SECONDS = 180.0
"""A server that could not reach its collector tries again after two minutes at most."""


class Copier:
    """Makes a Secret of each ConfigMap."""

    def reconcile(self, name: ObjectName, context: Context) -> None:
        """Make it."""
        if name.name == "source":
            context.apply(Secret(metadata=ObjectMeta(name="copy", namespace=name.namespace)))


@contextmanager
def copying(client: Client, manager: Manager, namespace: str) -> Iterator[None]:
    """Run it, and make a ConfigMap in the name of somebody's trace."""
    builder = controller_for(manager, "copier").for_(ConfigMap).writes(Secret, "create", "patch")
    controller = builder.complete_by_name(Copier())
    running = ManagerThread(manager, "copier")
    running.start()
    try:
        # what is listed at first is older than the trace on it may be
        until(lambda: controller.statistics().workers, "the first list handed over")
        marks = FrozenMap({"traceparent": str(THEIRS)})
        source = ObjectMeta(name="source", namespace=namespace, annotations=marks)
        client.resource(ConfigMap).create(ConfigMap(metadata=source))
        yield
    finally:
        running.end()


@pytest.fixture
def cluster() -> Iterator[RealCluster]:
    """A real server that sends its spans here."""
    path = os.environ.get("TRACED_KUBECONFIG")
    if not path:
        pytest.skip("TRACED_KUBECONFIG names no server with spans")
    # the server's spans come to one port
    with turn(Path(path), "spans", alone=True), closing(RealCluster(Path(path))) as cluster:
        yield cluster


def account(cluster: RealCluster, folder: Path) -> Path:
    """The kubeconfig of an account that may do everything in the namespace."""
    create_account(cluster, "copier")
    subject = {"kind": "ServiceAccount", "name": "copier", "namespace": cluster.namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"}
    binding = {"metadata": {"name": "copier"}, "roleRef": role, "subjects": [subject]}
    cluster.create(f"{RBAC}/namespaces/{cluster.namespace}/rolebindings", binding)
    return token_kubeconfig(cluster, token_of(cluster, "copier"), folder / "account.kubeconfig")


@pytest.mark.real
@pytest.mark.parametrize("who", ["administrator", "account"])
def test_spans_of_a_real_server_join(who: str, cluster: RealCluster, tmp_path: Path) -> None:
    """
    Those of an administrator's request are children of ours, down to the transaction in etcd.

    Those of others are a trace of the server's own, which has a link to our span: it trusts no foreign ids.
    """
    kubeconfig = cluster.kubeconfig if who == "administrator" else account(cluster, tmp_path)
    with collector(PORT) as collected, closing(HTTPTransport(load_config(kubeconfig=str(kubeconfig)))) as way:
        # what it could not send before fills its queue, and new spans are dropped
        until(lambda: collected.named(""), "a span of the server", seconds=SERVER_SECONDS)
        exporter = OTLPSpanExporter(endpoint=f"http://127.0.0.1:{PORT}", insecure=True)
        manager = Manager(Client(way), namespaces=[cluster.namespace])
        with traced(SimpleSpanProcessor(exporter)), copying(Client(way), manager, cluster.namespace):
            until(lambda: collected.named("patch secrets"), "our span")
            (write,) = collected.named("patch secrets")
            until(lambda: served(collected, write), "the server's")
            (patch,) = served(collected, write)
            until(lambda: stored(collected, patch), "that of its transaction in etcd")
    assert write.trace_id == THEIRS.trace_id
    assert (patch.trace_id == THEIRS.trace_id) is (who == "administrator")
    assert patch.links == (() if who == "administrator" else (write.span_id,))


def served(collected: Collector, write: Collected) -> list[Collected]:
    """The server's spans of a request of ours."""
    return [each for each in collected.named("PATCH /api") if write.span_id in (each.parent, *each.links)]


def stored(collected: Collector, patch: Collected) -> list[Collected]:
    """What the server asked of etcd meanwhile."""
    return [each for each in collected.named("etcdserverpb.KV/Txn") if each.trace_id == patch.trace_id]
