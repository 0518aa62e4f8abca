"""
The conversion of versions in a CustomResourceDefinition: what it may look like.

Follows: apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go
(ValidateCustomResourceConversion), apiserver pkg/util/webhook/validation.go.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

from handloop_sandbox.wire import names
from handloop_sandbox.wire.causes import forbidden_field, invalid_value, required
from handloop_sandbox.wire.field_rules import Object, entries, one_of
from handloop_sandbox.wire.status import Cause

_STRATEGIES: Final = ("None", "Webhook")
_UNDERSTOOD: Final = ("v1", "v1beta1")
_REVIEWS: Final = "spec.conversion.conversionReviewVersions"
_CLIENT: Final = "spec.conversion.webhookClientConfig"
_NO_WEBHOOK: Final = "should not be set when strategy is not set to Webhook"
_LOWEST_PORT, _HIGHEST_PORT = 1, 65535


def conversion_causes(conversion: Object | None) -> list[Cause]:
    """Everything wrong with the conversion of a definition."""
    if conversion is None:
        return []
    strategy, webhook = conversion.get("strategy"), conversion.get("webhook") or {}
    client, reviews = webhook.get("clientConfig"), list(entries(webhook, "conversionReviewVersions"))
    causes = one_of("spec.conversion.strategy", strategy, _STRATEGIES)
    if strategy == "Webhook":
        if client is None:
            causes.append(required(_CLIENT, "required when strategy is set to Webhook"))
        else:
            causes += _client(client)
        return causes + _reviews(reviews)
    causes += [forbidden_field(_CLIENT, _NO_WEBHOOK)] if client is not None else []
    return causes + ([forbidden_field(_REVIEWS, _NO_WEBHOOK)] if reviews else [])


def _client(client: Object) -> list[Cause]:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        return [required(_CLIENT, "exactly one of url or service is required")]
    return _service(service) if url is None else _url(url)


def _url(text: str) -> list[Cause]:
    at, form = f"{_CLIENT}.url", "desired format: https://host[/path]"
    parts = urlsplit(text)
    causes = []
    if parts.scheme != "https":
        told = f"'https' is the only allowed URL scheme; {form}"
        causes.append(invalid_value(at, parts.scheme, told))
    if not parts.netloc:
        causes.append(invalid_value(at, parts.netloc, f"host must be specified; {form}"))
    if parts.username is not None:
        causes.append(invalid_value(at, parts.username, "user information is not permitted in the URL"))
    if parts.fragment:
        causes.append(invalid_value(at, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        causes.append(invalid_value(at, parts.query, "query parameters are not permitted in the URL"))
    return causes


def _service(service: Any) -> list[Cause]:
    at, path, port = f"{_CLIENT}.service", service.get("path"), service.get("port", 443)
    causes = [required(f"{at}.{name}") for name in ("name", "namespace") if not service.get(name)]
    if not _LOWEST_PORT <= port <= _HIGHEST_PORT:
        told = f"port is not valid: must be between {_LOWEST_PORT} and {_HIGHEST_PORT}, inclusive"
        causes.append(invalid_value(f"{at}.port", port, told))
    return causes + ([] if path is None else _path(f"{at}.path", path))


def _path(at: str, path: str) -> list[Cause]:
    causes = []
    if not path.startswith("/"):
        causes.append(invalid_value(at, path, "must start with a '/'"))
    segments = path[1:].split("/")
    if segments[-1] == "":
        segments = segments[:-1]
    for index, segment in enumerate(segments or [""] if path != "/" else []):
        if not segment:
            causes.append(invalid_value(at, path, f"segment[{index}] may not be empty"))
    return causes


def _reviews(reviews: list[Any]) -> list[Cause]:
    if not reviews:
        return [required(_REVIEWS)]
    causes: list[Cause] = []
    if not set(reviews) & set(_UNDERSTOOD):
        told = f"must include at least one of {', '.join(_UNDERSTOOD)}"
        causes.append(invalid_value(_REVIEWS, reviews, told))
    for index, version in enumerate(reviews):
        at = f"{_REVIEWS}[{index}]"
        causes += [invalid_value(at, version, text) for text in names.dns_1035_label(version)]
        if version in reviews[:index]:
            causes.append(invalid_value(at, version, "duplicate version"))
    return causes
