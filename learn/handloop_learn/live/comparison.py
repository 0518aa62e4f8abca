"""
Compares the caches with the server, and reports which objects differ, and in which fields.

The report contains names, resource versions and the paths of fields, but no values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from handloop.apis.meta import Kind
from handloop.client.errors import ClientError
from handloop.client.options import ListOptions
from handloop.informers.keys import object_name
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.picture.parts import Parts

PAGE: Final = 500
MOST_DIFFERENCES: Final = 100


def compare(parts: Parts, kept: Callable[[Any], Any]) -> list[dict[str, Any]]:
    """
    List every cached kind from the server, and compare each object with the cached one.

    Args: kept converts an object into the form in which the caches store it.
    Returns: for each informer, the numbers of objects, and the objects that are `missing` in the cache, exist
    `only` there, or are `changed`. A change that reaches the cache late counts as a difference, too.
    Blocks: until one list per informer has been read.
    """
    return [_compared(parts, informer, kept) for informer in parts.informers()]


def _compared(parts: Parts, informer: SharedIndexInformer[Any], kept: Callable[[Any], Any]) -> dict[str, Any]:
    row: dict[str, Any] = {"name": informer.name, "version": informer.last_sync_resource_version()}
    try:
        server = {str(object_name(obj)): kept(obj) for obj in _listed(parts, informer)}
    except ClientError as error:
        return row | {"error": str(error)}
    cache = {key: informer.indexer.get_by_key(key) for key in informer.indexer.list_keys()}
    changed = [
        {
            "key": key,
            "cache": _version(old),
            "server": _version(obj),
            "fields": list(_different("", msgspec.to_builtins(old), msgspec.to_builtins(obj))),
        }
        for key, obj in server.items()
        if (old := cache.get(key)) is not None and old != obj
    ]
    return row | {
        "cached": len(cache),
        "served": len(server),
        "missing": sorted(server.keys() - cache.keys())[:MOST_DIFFERENCES],
        "only": sorted(cache.keys() - server.keys())[:MOST_DIFFERENCES],
        "changed": changed[:MOST_DIFFERENCES],
    }


def _listed(parts: Parts, informer: SharedIndexInformer[Any]) -> Iterator[Kind]:
    resource = parts.manager.client.resource(informer.kind)
    token: str | None = ""
    while token is not None:
        options = ListOptions(limit=PAGE, continue_token=token)
        page = resource.list(parts.namespace_of(informer), options=options)
        yield from page.items
        token = page.continue_token


def _version(obj: Any) -> str:
    return str(obj.metadata.resource_version)


def _different(path: str, old: object, new: object) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys()):
            yield from _different(f"{path}.{name}" if path else str(name), old.get(name), new.get(name))
    elif old != new:
        yield path
