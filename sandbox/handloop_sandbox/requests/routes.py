"""
Parses request paths.

A path names either a resource (with its namespace, object and subresource) or one of the server's documents.

Follows: apiserver pkg/endpoints/request/requestinfo.go.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import unquote

from handloop_sandbox.storage.catalog import Catalog
from handloop_sandbox.wire.resource import ServedResource
from handloop_sandbox.wire.status import PageNotFoundError, resource_not_found, wrong_method

_NAMESPACE_SUBRESOURCES: Final = ("status", "finalize")
_COLLECTION_VERBS: Final = {"GET": "list", "HEAD": "list", "POST": "create", "DELETE": "deletecollection"}
_OBJECT_VERBS: Final = {
    "GET": "get",
    "HEAD": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}


class ResourcePath(NamedTuple):
    """The parts of a resource's path. watching is true for the deprecated `/watch/` paths."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    rest: tuple[str, ...] = ()
    watching: bool = False

    def verb(self, method: str) -> str:
        """Return the RBAC verb of a request for this path with the given HTTP method."""
        verbs = _OBJECT_VERBS if self.name else _COLLECTION_VERBS
        verb = verbs.get(method, {"PUT": "update", "PATCH": "patch"}.get(method, ""))
        return "watch" if self.watching and verb in ("list", "get") else verb


@lru_cache(maxsize=1024)  # clients request the same few paths repeatedly
def split(path: str) -> tuple[str, ...]:
    """Return the decoded segments of a path."""
    return tuple(unquote(part) for part in path.strip("/").split("/") if part)


@lru_cache(maxsize=1024)
def resource_path(parts: tuple[str, ...]) -> ResourcePath | None:
    """Return the parts of a resource's path, or None for a document's path (`/api/v1`, `/version`, ...)."""
    match parts:
        case ("api", version, *rest) if rest:
            return _words("", version, tuple(rest))
        case ("apis", group, version, *rest) if rest:
            return _words(group, version, tuple(rest))
    return None


def find(catalog: Catalog, path: ResourcePath, method: str) -> ServedResource:
    """
    Return the resource at a path.

    Raises: StatusError 404 or 405 (sent as JSON) if a request for a built-in group is refused, or
    PageNotFoundError (sent as plain text) for other groups.
    """
    resource = catalog.find(path.group, path.version, path.plural)
    if resource is None:
        raise _unknown(catalog, path)
    if resource.custom:
        return _custom(resource, path, method)
    return _built_in(resource, path, method)


def is_built_in_group(catalog: Catalog, group: str) -> bool:
    """Return whether an API group contains built-in kinds."""
    return any(
        not resource.custom
        for version in catalog.versions(group)
        for resource in catalog.in_group_version(group, version)
    )


def _words(group: str, version: str, rest: tuple[str, ...]) -> ResourcePath:
    watching = rest[0] == "watch" and len(rest) > 1
    rest = rest[1:] if watching else rest
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:  # noqa: PLR2004 - a resource in it
            rest = rest[2:]
        else:
            namespace = ""
    plural, name, subresource, *more = (*rest, "", "")
    extra = tuple(part for part in more if part)
    return ResourcePath(group, version, plural, namespace, name, subresource, extra, watching)


def _unknown(catalog: Catalog, path: ResourcePath) -> Exception:
    return resource_not_found() if is_built_in_group(catalog, path.group) else PageNotFoundError()


def _custom(resource: ServedResource, path: ResourcePath, method: str) -> ServedResource:
    if path.namespace and not resource.namespaced:
        raise PageNotFoundError
    across = resource.namespaced and not path.namespace
    if across and (path.name or path.verb(method) not in ("list", "watch")):
        raise PageNotFoundError
    return resource


def _built_in(resource: ServedResource, path: ResourcePath, method: str) -> ServedResource:
    if path.rest and path.subresource != "proxy":
        raise resource_not_found()
    if bool(path.namespace) != resource.namespaced and (path.namespace or path.name):
        raise resource_not_found()
    if path.subresource and resource.subresource(path.subresource) is None:
        raise resource_not_found()
    if method == "HEAD" or path.verb(method) not in _verbs(resource, path):
        raise wrong_method()  # only documents and custom resources respond to HEAD
    return resource


def _verbs(resource: ServedResource, path: ResourcePath) -> tuple[str, ...]:
    if path.subresource:
        subresource = resource.subresource(path.subresource)
        return subresource.verbs if subresource else ()
    verbs = set(resource.verbs)
    if path.name:
        return tuple(verbs & {"get", "watch", "update", "patch", "delete"})
    if resource.namespaced and not path.namespace and resource.verbs != ("create",):
        return tuple(verbs & {"list", "watch"})
    return tuple(verbs & {"list", "watch", "create", "deletecollection"})
