"""The versions of a kind: each class names the one before it, and two functions may join them."""

from __future__ import annotations

from handloop.apis.meta import Kind


def versions_of(kind: type[Kind]) -> list[type[Kind]]:
    """The versions of a kind, the newest first."""
    found: list[type[Kind]] = []
    version: type[Kind] | None = kind
    while version is not None:
        found.append(version)
        version = version.previous
    return found


def has_functions(kind: type[Kind]) -> bool:
    """Whether functions join a version with the one before it."""
    return "from_previous" in vars(kind)


def is_converted(kind: type[Kind]) -> bool:
    """Whether functions join any versions of a kind: then a webhook has to convert its objects."""
    return any(has_functions(version) for version in versions_of(kind))
