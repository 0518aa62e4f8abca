"""
Credentials of an auth provider (gcp, oidc), through the `kubernetes` package, which serves nothing else here.

The package is imported when a provider is first asked: importing it costs most of a second, and hardly any
configuration still needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from handloop.client.auth.credentials import Fetched
from handloop.client.errors import ConfigError, ConfigProblem

# how often a provider is asked whether it has something newer; it keeps its own token until that expires
_PROVIDER_SECONDS: Final = 60.0


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
