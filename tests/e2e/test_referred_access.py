"""An account that may read one Secret by its name, and no other, on either server."""

from __future__ import annotations

import threading
from contextlib import ExitStack, closing
from pathlib import Path

from handloop.client.config import load_config
from handloop.client.resource_client import Client
from handloop.client.transport import HTTPTransport
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.rbac.roles import roles
from handloop.controller.runtime.reconciling.context import Context
from handloop.kinds.core_v1 import Secret
from handloop.testing.eventually import eventually
from support.checks.captured_logs import captured_logs
from support.checks.threads import Background
from support.servers.cluster import Cluster, token_kubeconfig
from support.servers.service_account import bound, create_account, token_of


def test_a_role_with_resource_names_is_enough_for_references(cluster: Cluster, tmp_path: Path) -> None:
    """A controller with the printed role reads what its objects refer to, and is refused nothing."""
    secrets = f"/api/v1/namespaces/{cluster.namespace}/secrets"
    for name in ("tls", "other"):
        cluster.create(secrets, {"metadata": {"name": name}, "data": {"key": "YQ=="}})
    read: list[str] = []

    def reconcile(_foo: Foo, context: Context) -> None:
        secret = context.referred(Secret, "tls")
        read.append("none" if secret is None else secret.data["key"])

    def set_up(manager: Manager) -> None:
        builder = controller_for(manager, "reader").for_(Foo)
        builder.refers_to(Secret, lambda _foo: ["tls"], allowed=("tls",)).complete(reconcile)

    wanted = Manager(Client(HTTPTransport(load_config(kubeconfig=str(cluster.kubeconfig)))))
    set_up(wanted)
    create_account(cluster, "reader")
    cluster.create_foo("a", replicas=1)
    stop = threading.Event()
    with ExitStack() as stack, captured_logs() as logs:
        for role in roles(wanted.access(), namespaces=[cluster.namespace]):
            stack.enter_context(bound(cluster, role, "reader"))
        config = load_config(
            kubeconfig=str(token_kubeconfig(cluster, token_of(cluster, "reader"), tmp_path / "reader"))
        )
        transport = stack.enter_context(closing(HTTPTransport(config)))
        manager = Manager(Client(transport, stop=stop), namespaces=(cluster.namespace,))
        set_up(manager)
        running = Background(lambda: manager.run(stop))
        try:
            eventually(lambda: read[-1:] == ["YQ=="], "read", seconds=cluster.seconds)
            cluster.change(secrets, "tls", {"data": {"key": "Yg=="}})
            eventually(lambda: read[-1:] == ["Yg=="], "changed", seconds=cluster.seconds)
        finally:
            stop.set()
            running.result()
    assert [line for line in logs if line["log_level"] in {"warning", "error"}] == []
