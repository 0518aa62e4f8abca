"""Built-in resources by name."""

from __future__ import annotations

from functools import cache

from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.wire.resource import ServedResource


@cache
def builtin(group: str, plural: str, version: str = "") -> ServedResource:
    """A resource by its plural; without a version the one of the storage."""
    return next(
        resource
        for resource in builtin_resources()
        if (resource.group, resource.plural) == (group, plural)
        and resource.version == (version or resource.storage_version)
    )


@cache
def builtin_kind(api_version: str, kind: str) -> ServedResource:
    """A resource by the fields of its objects."""
    return next(
        resource
        for resource in builtin_resources()
        if (resource.api_version, resource.kind) == (api_version, kind)
    )
