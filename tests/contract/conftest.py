"""Our types, on the servers of contract tests."""

from support.servers.both_servers import client, namespace, server

__all__ = ("client", "namespace", "server")
