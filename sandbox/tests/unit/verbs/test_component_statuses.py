from __future__ import annotations

from support.servers.local_server import LocalServer


def test_they_are_rows_too(server: LocalServer) -> None:
    """As kubectl asks for them; all else is recorded in the contract tests."""
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    table = server.request("GET", "/api/v1/componentstatuses/etcd-0", accept=accept).body
    assert table["rows"][0]["cells"] == ["etcd-0", "Healthy", "ok", ""]
