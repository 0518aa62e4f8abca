"""
A pod's configuration: its service account, as mounted by the kubelet.

Follows: client-go rest/config.go (InClusterConfig) and tools/clientcmd/client_config.go @32ce75a7d.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path

from handloop.client.auth.bounded_file import read_file
from handloop.client.auth.credentials import TokenFile, read_token
from handloop.client.auth.tls import TLSOptions, build_context
from handloop.client.errors import ConfigError, ConfigProblem
from handloop.seams.clock import Clock
from handloop.seams.logs import get_logger

log = get_logger("client")

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def in_cluster_possible(environ: Mapping[str, str], folder: str) -> bool:
    """Return whether we seem to run in a pod: the server's variables are set, and the token file exists."""
    named = environ.get("KUBERNETES_SERVICE_HOST") and environ.get("KUBERNETES_SERVICE_PORT")
    return bool(named) and Path(folder, "token").exists() and not Path(folder, "token").is_dir()


def in_cluster_server(environ: Mapping[str, str]) -> str:
    """
    Return the API server's URL. Call this function only if in_cluster_possible returned true.

    Raises: ConfigError for an invalid port.
    """
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ["KUBERNETES_SERVICE_PORT"]
    if not port.isdigit():
        raise ConfigError(ConfigProblem.SERVER, f"KUBERNETES_SERVICE_PORT is not a port: {port}")
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def in_cluster_token(folder: str, clock: Clock) -> TokenFile:
    """
    Return the service account's token. Its file is reread regularly, because the kubelet rotates it.

    Raises: ConfigError if the file cannot be read.
    """
    path = str(Path(folder, "token"))
    read_token(path)
    return TokenFile(path, clock=clock)


def in_cluster_ca(folder: str) -> str:
    """
    Return the path of the CA file. If the file is unusable, log an error and return "" (the system's trust
    store).
    """
    path = str(Path(folder, "ca.crt"))
    try:
        build_context(TLSOptions(ca_file=path))
    except (ConfigError, ssl.SSLError) as error:
        log.error("Expected to load root CA config", path=path, err=str(error))  # noqa: TRY400 - no traceback
        return ""
    return path


def in_cluster_namespace(environ: Mapping[str, str], folder: str) -> str:
    """Return $POD_NAMESPACE or, if it is not set, the service account's namespace, or else "default"."""
    if environ.get("POD_NAMESPACE"):
        return environ["POD_NAMESPACE"]
    try:
        return read_file(str(Path(folder, "namespace"))).decode().strip() or "default"
    except (OSError, UnicodeDecodeError):
        return "default"
