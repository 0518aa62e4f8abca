"""
Credentials that somebody else hands out: exec plugins and auth providers, through the `kubernetes` package.

The package is imported when credentials are first fetched: importing it costs most of a second, and most
configurations (in-cluster, client certificates, tokens) never need it.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from handloop.apis.time import parse_time
from handloop.client.auth.credentials import Fetched
from handloop.client.errors import ConfigError, ConfigProblem
from handloop.client.http.tls import KeyPair

# how often a provider is asked whether it has something newer; it keeps its own token until that expires
_PROVIDER_SECONDS = 60.0


def fetch_from_plugin(plugin: Mapping[str, Any], cluster: Mapping[str, Any], folder: str) -> Fetched:
    """
    Run an exec plugin once.

    Args: plugin is the user's `exec` section; cluster goes to the plugin if it asks for it; folder is what
    relative paths start from.
    Raises: ConfigError naming the program, with the kubeconfig's install hint when it is not there.
    """
    command = str(plugin.get("command", ""))
    hint = str(plugin.get("installHint") or "").strip()
    _require_program(command, folder, hint)
    # imported here because the package costs 0.7 s
    from kubernetes.config.config_exception import ConfigException  # noqa: PLC0415
    from kubernetes.config.exec_provider import ExecProvider  # noqa: PLC0415
    from kubernetes.config.kube_config import ConfigNode  # noqa: PLC0415

    try:
        section = ConfigNode("exec", dict(plugin))
        cluster_section = ConfigNode("cluster", dict(cluster))
        answer = ExecProvider(section, folder or None, cluster_section).run()
    except (ConfigException, OSError, ValueError, KeyError) as error:
        raise _plugin_error(command, str(error), hint) from error
    return _fetched(command, answer, hint)


def _require_program(command: str, folder: str, hint: str) -> None:
    found = shutil.which(str(Path(folder, command)) if "/" in command else command)
    if not command or found is None:
        raise ConfigError(
            ConfigProblem.EXEC_PLUGIN,
            f'exec plugin "{command}" not found' + ("" if "/" in command else " in PATH"),
            fix=hint or f"install {command or 'the plugin'}, or use a kubeconfig that does not need it",
            plugin=command,
            install_hint=hint,
        )


def _plugin_error(command: str, cause: str, hint: str) -> ConfigError:
    return ConfigError(
        ConfigProblem.EXEC_PLUGIN,
        f'exec plugin "{command}" failed',
        cause=cause,
        fix=f"run `{command}` by hand; you may have to log in again",
        plugin=command,
        install_hint=hint,
    )


def _fetched(command: str, answer: Any, hint: str) -> Fetched:
    if not isinstance(answer, dict):
        raise _plugin_error(command, "answered without a status", hint)
    token = answer.get("token")
    certificate, key = answer.get("clientCertificateData"), answer.get("clientKeyData")
    if not _fits_in_header(token):
        raise _plugin_error(command, "answered with a token that does not fit in a header", hint)
    if bool(certificate) != bool(key):
        raise _plugin_error(command, "answered with half a key pair", hint)
    if not token and not certificate:
        raise _plugin_error(command, "answered without token or client certificate", hint)
    expires = answer.get("expirationTimestamp")
    try:
        expires_at = parse_time(str(expires)) if expires else None
    except ValueError as error:
        raise _plugin_error(command, f"answered with a bad expirationTimestamp: {expires}", hint) from error
    return Fetched(
        authorization=f"Bearer {token}" if token else "",
        key_pair=KeyPair(str(certificate).encode(), str(key).encode()) if certificate else None,
        expires_at=expires_at,
    )


def _fits_in_header(token: object) -> bool:
    return token is None or (isinstance(token, str) and token.isascii() and token.isprintable())


def fetch_from_provider(user: Mapping[str, Any], folder: str, now: float) -> Fetched:
    """
    Ask an auth provider (gcp, oidc) once.

    Args: user is the whole user section; now is Unix time.
    Raises: ConfigError when the provider is unknown or gives no token.
    """
    name = str((user.get("auth-provider") or {}).get("name", ""))
    # imported here because the package costs 0.7 s
    from kubernetes.client import Configuration  # noqa: PLC0415
    from kubernetes.config.kube_config import KubeConfigLoader  # noqa: PLC0415

    configuration = Configuration()
    loader = KubeConfigLoader(_document(user), config_base_path=folder)
    try:
        loader.load_and_set(configuration)
    except Exception as error:  # its providers raise whatever their libraries raise
        raise _provider_error(name, str(error)) from error
    authorization = configuration.api_key.get("BearerToken")
    if not authorization:
        raise _provider_error(name, "gave no token; this provider may be gone, use an exec plugin")
    return Fetched(authorization=str(authorization), expires_at=now + _PROVIDER_SECONDS)


def _document(user: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "current-context": "login",
        "contexts": [{"name": "login", "context": {"cluster": "login", "user": "login"}}],
        "clusters": [{"name": "login", "cluster": {"server": "http://127.0.0.1"}}],
        "users": [{"name": "login", "user": dict(user)}],
    }


def _provider_error(name: str, cause: str) -> ConfigError:
    return ConfigError(
        ConfigProblem.CREDENTIALS,
        f'auth provider "{name}" failed',
        cause=cause,
        fix="log in again with your provider's tool",
    )
