"""No usable configuration: what is wrong with it, where, and what to do."""

from __future__ import annotations

from enum import StrEnum

from handloop.client.errors.client_error import ClientError


class ConfigProblem(StrEnum):
    """What is wrong with the configuration; each has its message in the command line's catalogue."""

    NOT_FOUND = "not-found"  # nothing configured anywhere; `looked_in` says where we looked
    UNREADABLE = "unreadable"  # a named file does not exist, or cannot be read
    MALFORMED = "malformed"  # not YAML, or not of a kubeconfig's shape
    CONTEXT = "context"  # the context does not exist; `available` has those that do
    REFERENCE = "reference"  # a context names a cluster or user that is not there
    CERTIFICATE = "certificate"  # CA, client certificate or key is missing or broken
    SERVER = "server"  # no server address, or one we cannot use
    CREDENTIALS = "credentials"  # a token file or an auth provider fails
    EXEC_PLUGIN = "exec-plugin"  # a credential program is missing or fails; `plugin` names it


class ConfigError(ClientError):
    """
    There is no usable configuration.

    Fields: kind; message = what is wrong, one line; cause = the one fact behind it; fix = what to do;
    path and line = where; available = contexts that exist; looked_in = (place, what was found there);
    plugin and install_hint = the credential program and its kubeconfig's words on installing it.
    """

    def __init__(
        self,
        kind: ConfigProblem,
        message: str,
        *,
        cause: str = "",
        fix: str = "",
        path: str = "",
        line: int | None = None,
        available: tuple[str, ...] = (),
        looked_in: tuple[tuple[str, str], ...] = (),
        plugin: str = "",
        install_hint: str = "",
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.cause = cause
        self.fix = fix
        self.path = path
        self.line = line
        self.available = available
        self.looked_in = looked_in
        self.plugin = plugin
        self.install_hint = install_hint

    def __str__(self) -> str:
        return f"{self.message}: {self.cause}" if self.cause else self.message
