"""Our types, on the servers of contract tests."""

from support.servers.both_servers import namespace, server

__all__ = ("namespace", "server")
