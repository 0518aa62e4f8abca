"""
Validation rules for a webhook's client configuration and review versions.

Follows: apiserver pkg/util/webhook/validation.go, kubernetes pkg/apis/admissionregistration/validation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from handloop_sandbox.wire import go_url, names
from handloop_sandbox.wire.causes import invalid_value, required
from handloop_sandbox.wire.field_rules import MAX_PORT, PORT_RANGE, Object
from handloop_sandbox.wire.status import Cause

UNDERSTOOD: Final = ("v1", "v1beta1")
_FORM: Final = "desired format: https://host[/path]"


def client(path: str, given: Object) -> list[Cause]:
    """Return the validation errors for a clientConfig, which must have either a URL or a service."""
    address, named = given.get("url"), given.get("service")
    if (address is None) == (named is None):
        return [required(path, "exactly one of url or service is required")]
    return _service(f"{path}.service", named) if address is None else _url(f"{path}.url", address)


def reviews(path: str, versions: Sequence[Any], missing: str = "") -> list[Cause]:
    """Return the validation errors for the review versions. missing is the error for an empty list."""
    if not versions:
        return [required(path, missing)]
    causes: list[Cause] = []
    for index, version in enumerate(versions):
        at = f"{path}[{index}]"
        if version in versions[:index]:
            causes.append(invalid_value(at, version, "duplicate version"))
        else:
            causes += [invalid_value(at, version, text) for text in names.dns_1035_label(version)]
    if not set(versions) & set(UNDERSTOOD):
        told = f"must include at least one of {', '.join(UNDERSTOOD)}"
        causes.append(invalid_value(path, list(versions), told))
    return causes


def port_causes(path: str, port: Any) -> list[Cause]:
    """Return the validation errors for a service's port."""
    fits = 1 <= port <= MAX_PORT
    return [] if fits else [invalid_value(path, port, f"port is not valid: {PORT_RANGE}")]


def _url(at: str, text: str) -> list[Cause]:
    try:
        if "://" in text or text.startswith(":"):
            go_url.parse_request_url(text.partition("#")[0])
        parts = urlsplit(text)
    except ValueError as error:
        return [required(at, f'url must be a valid URL: parse "{text}": {error}; {_FORM}')]
    causes = []
    if parts.scheme != "https":
        told = f"'https' is the only allowed URL scheme; {_FORM}"
        causes.append(invalid_value(at, parts.scheme, told))
    if not parts.netloc:
        causes.append(invalid_value(at, parts.netloc, f"host must be specified; {_FORM}"))
    if parts.username is not None:
        causes.append(invalid_value(at, parts.username, "user information is not permitted in the URL"))
    if parts.fragment:
        causes.append(invalid_value(at, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        causes.append(invalid_value(at, parts.query, "query parameters are not permitted in the URL"))
    return causes


def _service(at: str, service: Any) -> list[Cause]:
    # Kubernetes reports a missing namespace as a missing name, and vice versa.
    causes = [
        required(f"{at}.{told}")
        for name, told in (("namespace", "name"), ("name", "namespace"))
        if not service.get(name)
    ]
    causes += port_causes(f"{at}.port", service.get("port", 443))
    path = service.get("path")
    return causes + ([] if path in {None, "", "/"} else _path(f"{at}.path", path))


def _path(at: str, path: str) -> list[Cause]:
    if path == "//":
        return [invalid_value(at, path, "segment[0] may not be empty")]
    causes = [] if path.startswith("/") else [invalid_value(at, path, "must start with a '/'")]
    for index, segment in enumerate(path[1:].removesuffix("/").split("/")):
        wrong = (
            [f": {text}" for text in names.dns_1123_subdomain(segment)] if segment else [" may not be empty"]
        )
        causes += [invalid_value(at, path, f"segment[{index}]{text}") for text in wrong]
    return causes
