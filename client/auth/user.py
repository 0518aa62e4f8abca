"""
The credentials of a user in a kubeconfig.

Follows: client-go tools/clientcmd (client_config.go, validation.go) @32ce75a7d.
"""

from __future__ import annotations

import base64
import binascii
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from handloop.client.auth.credentials import (
    Credentials,
    Fetched,
    FetchedCredentials,
    StaticCredentials,
    TokenFile,
)
from handloop.client.auth.exec_plugin import fetch_from_plugin
from handloop.client.auth.kubeconfig import User
from handloop.client.auth.tls import KeyPair
from handloop.client.errors import ConfigError, ConfigProblem
from handloop.seams.clock import Clock
from handloop.seams.seams import Seams

# We ask a provider for a newer token this often, because it returns the same token until that expires.
_PROVIDER_SECONDS: Final = 60.0
_PACKAGE_FIX: Final = "pip install kubernetes, or use an exec plugin (gke-gcloud-auth-plugin, kubelogin)"
_OF_HEADER_NAMES: Final = "!#$&'*+-.^_`|~"
"""
Allowed besides letters and digits.

A percent sign is not allowed, because it begins an encoded character.
"""


def credentials_for(
    user: User,
    name: str,
    *,
    file: str,
    plugin_cluster: Callable[[], Mapping[str, Any]],
    stop: threading.Event,
    clock: Clock,
) -> Credentials:
    """
    Return the credentials for a user's requests. Those in the kubeconfig take precedence over a program.

    Args: file is the kubeconfig that defines the user; plugin_cluster returns the cluster's entry, for an
    exec plugin that asks for it; stop ends a running plugin.
    Raises: ConfigError if the user's fields contradict each other. Programs and token files are used only
    later, when credentials are needed.
    """
    _require_one_method(user, name)
    if user.token_file:
        return TokenFile(user.token_file, fallback=user.token, clock=clock)
    if user.token:
        return StaticCredentials(f"Bearer {_header_safe(user.token, name)}")
    if user.username or user.password:
        pair = f"{user.username}:{user.password}".encode()
        return StaticCredentials(f"Basic {base64.b64encode(pair).decode()}")
    folder = str(Path(file).absolute().parent) if file else ""
    if user.exec is not None and not (user.client_certificate or user.client_certificate_data):
        return _plugin(user.exec, folder, plugin_cluster, stop, clock)
    if user.auth_provider is not None:
        provider = user.auth_provider
        return FetchedCredentials(
            str(provider.get("name", "")),
            lambda: fetch_from_provider(provider, folder, clock.time()),
            seams=Seams(clock=clock),
        )
    return StaticCredentials()


def _require_one_method(user: User, name: str) -> None:
    fixed = {"token": user.token or user.token_file, "username and password": user.username or user.password}
    programs = {"exec": user.exec, "auth-provider": user.auth_provider}
    for methods in (fixed, programs):
        given = [method for method, value in methods.items() if value]
        if len(given) < len(methods):
            continue
        what = f'user "{name}" has more than one way to log in'
        raise ConfigError(ConfigProblem.MALFORMED, what, cause=", ".join(given), fix="keep one of them")


def _header_safe(token: str, name: str) -> str:
    if not token.isascii() or not token.isprintable():
        raise ConfigError(ConfigProblem.CREDENTIALS, f'the token of user "{name}" is not valid in a header')
    return token


def _plugin(
    section: Mapping[str, Any],
    folder: str,
    cluster: Callable[[], Mapping[str, Any]],
    stop: threading.Event,
    clock: Clock,
) -> Credentials:
    # The kubeconfig reader keeps scalars as strings.
    wants_cluster = str(section.get("provideClusterInfo", "")).lower() == "true"

    def fetch() -> Fetched:
        return fetch_from_plugin(section, cluster() if wants_cluster else {}, folder, stop=stop)

    return FetchedCredentials(str(section.get("command", "")), fetch, seams=Seams(clock=clock))


def key_pair_for(user: User, name: str) -> KeyPair:
    """
    Return the user's client certificate, if any.

    Raises: ConfigError if the certificate or key is missing, set twice or not base64.
    """
    both = [
        field
        for field in ("client_certificate", "client_key")
        if getattr(user, field) and getattr(user, f"{field}_data")
    ]
    if both:
        field = both[0].replace("_", "-")
        raise _certificate_error(name, f"{field} and {field}-data are both given")
    certificate = decode_base64(user.client_certificate_data, f'users["{name}"].client-certificate-data')
    key = decode_base64(user.client_key_data, f'users["{name}"].client-key-data')
    pair = KeyPair(certificate, key, user.client_certificate, user.client_key)
    if pair and not (key or user.client_key):
        raise _certificate_error(name, "client-key or client-key-data must be given with the certificate")
    return pair


def _certificate_error(name: str, cause: str) -> ConfigError:
    what = f'the client certificate of user "{name}" is not usable'
    return ConfigError(ConfigProblem.CERTIFICATE, what, cause=cause)


def decode_base64(text: str, where: str) -> bytes:
    """
    Return the decoded bytes of a `*-data` field.

    Raises: ConfigError that names the field.
    """
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ConfigError(
            ConfigProblem.CERTIFICATE,
            f"{where} is not base64",
            cause=str(error),
            fix="obtain the kubeconfig again from its source",
        ) from error


def impersonation_headers(user: User, name: str = "") -> tuple[tuple[str, str], ...]:
    """
    Return the headers that make the server treat us as another user.

    Characters of a key that are not allowed in a header name, such as a slash, are percent-encoded, as in
    client-go.

    Args: name is the user's name, for messages.
    Raises: ConfigError for a value that is not allowed in a header.
    """
    headers = [("Impersonate-User", user.act_as)] if user.act_as else []
    if user.act_as_uid:
        headers.append(("Impersonate-Uid", user.act_as_uid))
    headers += [("Impersonate-Group", group) for group in user.act_as_groups]
    headers += [
        (f"Impersonate-Extra-{quote(key, safe=_OF_HEADER_NAMES)}", value)
        for key, values in user.act_as_extra.items()
        for value in values
    ]
    for header, value in headers:
        if not value.isprintable():
            what = f'{header} of user "{name}" is not valid in a header'
            raise ConfigError(ConfigProblem.MALFORMED, what, cause="it contains an unprintable character")
    # The values are UTF-8 bytes, as in Go. The transport writes one byte per character.
    return tuple((header, value.encode().decode("latin-1")) for header, value in headers)


def fetch_from_provider(provider: Mapping[str, Any], folder: str, now: float) -> Fetched:
    """
    Fetch a token from an auth provider (gcp, oidc).

    Args: provider is the user's `auth-provider`; relative paths are resolved against folder; now is a Unix
    time.
    Raises: ConfigError if the provider is unknown or returns no token.
    """
    name = str(provider.get("name", ""))
    # Import this here, because the package takes 0.7 s to load.
    try:
        from kubernetes.client import Configuration  # noqa: PLC0415
        from kubernetes.config.kube_config import KubeConfigLoader  # noqa: PLC0415
    except ImportError as error:
        cause = f"the kubernetes package, which has the auth providers, cannot be loaded: {error}"
        raise _provider_error(name, cause, _PACKAGE_FIX) from error

    configuration = Configuration()
    loader = KubeConfigLoader(_document(provider), config_base_path=folder)
    try:
        loader.load_and_set(configuration)
    except Exception as error:  # each provider raises its own library's errors
        raise _provider_error(name, str(error)) from error
    authorization = configuration.api_key.get("BearerToken")
    if not authorization:
        raise _provider_error(name, "no token; this provider may no longer exist, so use an exec plugin")
    return Fetched(authorization=str(authorization), expires_at=now + _PROVIDER_SECONDS)


def _document(provider: Mapping[str, Any]) -> dict[str, Any]:
    """Return a kubeconfig that contains the provider, because the package can read only whole kubeconfigs."""
    return {
        "current-context": "login",
        "contexts": [{"name": "login", "context": {"cluster": "login", "user": "login"}}],
        "clusters": [{"name": "login", "cluster": {"server": "http://127.0.0.1"}}],
        "users": [{"name": "login", "user": {"auth-provider": dict(provider)}}],
    }


def _provider_error(
    name: str, cause: str, fix: str = "log in again with your provider's tool"
) -> ConfigError:
    return ConfigError(ConfigProblem.CREDENTIALS, f'auth provider "{name}" failed', cause=cause, fix=fix)
