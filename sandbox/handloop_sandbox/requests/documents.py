"""
Serves the paths that are not resources: discovery, OpenAPI, version, health and metrics.

Follows: apiserver pkg/server/{routes,healthz}, pkg/endpoints/discovery.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from handloop_sandbox.requests import discovery, openapi, openapi_protobuf, openapi_v2, routes
from handloop_sandbox.requests.request import Headers, Request, Response
from handloop_sandbox.storage.catalog import Catalog
from handloop_sandbox.storage.state import State
from handloop_sandbox.wire.negotiate import (
    JSON,
    OBJECT_TYPES,
    check_document,
    choose,
    negotiate,
    wants_aggregated,
)
from handloop_sandbox.wire.status import PageNotFoundError, resource_not_found, wrong_method

_NO_CACHE: Final = ("Cache-Control", "no-cache, private")
_VARY: Final = ("Vary", "Accept")
_TEXT: Final = "text/plain; charset=utf-8"
_HEALTH: Final = ("healthz", "livez", "readyz")
_CHECKS: Final = ("ping", "log", "storage", "controllers")
_METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"
_DISCOVERY_DEPTH: Final = 3


class Site(NamedTuple):
    """The data from which the documents are built."""

    state: State
    catalog: Catalog
    address: str
    metrics: Callable[[], str]


def document(site: Site, request: Request, parts: Sequence[str]) -> Response:
    """
    Return the document at a path.

    Raises: StatusError or PageNotFoundError if the request is refused.
    """
    if request.method != "GET" and not (request.method == "HEAD" and _has_head(site.catalog, tuple(parts))):
        raise _refusal(site, request, parts)
    match tuple(parts):
        case ():
            return _json(request, discovery.root_paths(site.catalog), (JSON,))
        case ("version",):
            return _indented(request, discovery.version_info())
        case (name, *rest) if name in _HEALTH:
            return _health(request, name, rest)
        case ("metrics",):
            return _text(site.metrics(), _METRICS)
        case ("openapi", version, *rest):
            return _openapi(site, request, version, "/".join(rest))
        case ("api" | "apis", *_):
            return _discovery(site, request, tuple(parts))
    raise PageNotFoundError


def _has_head(catalog: Catalog, parts: tuple[str, ...]) -> bool:
    """Return whether a path supports HEAD. The documents of built-in groups support only GET."""
    match parts:
        case ("version",) | ("api", *_):
            return False
        case ("apis", group, _):
            return not routes.is_built_in_group(catalog, group)
    return True


def _refusal(site: Site, request: Request, parts: Sequence[str]) -> Exception:
    try:
        document(site, Request("GET", request.path), parts)
    except PageNotFoundError as error:
        return error
    return wrong_method()


def _health(request: Request, name: str, rest: Sequence[str]) -> Response:
    if rest:
        if len(rest) == 1 and rest[0] in _CHECKS:
            return _text("ok")
        raise PageNotFoundError
    if request.query.get("verbose") is None:
        return _text("ok")
    checks = "".join(f"[+]{check} ok\n" for check in _CHECKS)
    return _text(f"{checks}{name} check passed\n")


def _openapi(site: Site, request: Request, version: str, path: str) -> Response:
    if (version, path) == ("v2", ""):
        return _published(request, openapi_v2.document(site.catalog), _NO_CACHE, openapi_protobuf.version_2)
    if version != "v3":
        raise PageNotFoundError
    if not path:
        index = msgspec.json.encode(openapi.index(site.catalog))
        return Response(200, (("Content-Type", _TEXT), _NO_CACHE), (index,))
    found = openapi.document(site.catalog, path)
    if found is None:
        raise PageNotFoundError
    return _published(request, found, _caching(request), openapi_protobuf.version_3)


def _published(
    request: Request, found: bytes, caching: tuple[str, str], as_protobuf: Callable[[bytes], bytes]
) -> Response:
    """Return an OpenAPI document in the requested media type, or an empty answer (406) for other types."""
    protobuf = openapi_protobuf.V2 if as_protobuf is openapi_protobuf.version_2 else openapi_protobuf.V3
    available = (JSON, protobuf, protobuf.replace(".v1.0", "@v1.0"))
    chosen = choose(request.headers.get("accept", ""), available)
    if chosen is None:
        return Response(406, (_NO_CACHE, _VARY))
    if chosen == JSON:
        return Response(200, (("Content-Type", JSON), caching, _VARY), (found,))
    return Response(200, (("Content-Type", protobuf), caching, _VARY), (as_protobuf(found),))


def _caching(request: Request) -> tuple[str, str]:
    return ("Cache-Control", "public, immutable") if request.query.get("hash") else _NO_CACHE


def _discovery(site: Site, request: Request, parts: tuple[str, ...]) -> Response:
    catalog = site.catalog
    if len(parts) == 1:
        return _root(site, request, core=parts[0] == "api")
    if parts[0] == "api":
        return _group_version(catalog, request, "", parts[1])
    group = parts[1]
    if len(parts) < _DISCOVERY_DEPTH:
        found = discovery.api_group(catalog, group)
        if found is None:
            raise PageNotFoundError
        return _json(request, found)
    return _group_version(catalog, request, group, parts[2])


def _root(site: Site, request: Request, *, core: bool) -> Response:
    version = wants_aggregated(request.headers.get("accept", ""))
    if version is None:
        if core:
            return _json(request, discovery.api_versions(site.catalog, site.address))
        return _json(request, discovery.api_group_list(site.catalog))
    content = msgspec.json.encode(discovery.aggregated(site.catalog, core=core, version=version))
    tag = f'"{hashlib.sha256(content).hexdigest().upper()}"'
    media_type = f"{JSON};g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
    headers: Headers = (("Content-Type", media_type), ("ETag", tag), ("Cache-Control", "public"), _VARY)
    if tag in request.headers.get("if-none-match", ""):
        return Response(304, headers)
    return Response(200, headers, (content,))


def _group_version(catalog: Catalog, request: Request, group: str, version: str) -> Response:
    found = discovery.api_resource_list(catalog, group, version)
    if found is not None:
        return _json(request, found)
    raise resource_not_found() if routes.is_built_in_group(catalog, group) else PageNotFoundError


def _json(
    request: Request, value: Any, available: Sequence[str] = OBJECT_TYPES, *, content_type: str = ""
) -> Response:
    accept = request.headers.get("accept", "")
    check_document(accept, available)
    form = negotiate(accept, pretty=request.query.get("pretty"), watch=False, resource=None)
    headers = (("Content-Type", content_type or form.content_type), _NO_CACHE)
    content = msgspec.json.encode(value) + b"\n" if form.plain else form.encode_value(value)
    return Response(200, headers, (content,))


def _indented(request: Request, value: Any) -> Response:
    check_document(request.headers.get("accept", ""), (JSON,))
    content = msgspec.json.format(msgspec.json.encode(value), indent=2)
    return Response(200, (("Content-Type", JSON), _NO_CACHE), (content,))


def _text(text: str, content_type: str = _TEXT) -> Response:
    headers = (("Content-Type", content_type), _NO_CACHE, ("X-Content-Type-Options", "nosniff"))
    return Response(200, headers, (text.encode(),))
