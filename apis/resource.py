"""A kind's names on the wire (group, version, kind, plural and scope), and the URLs made of them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import quote

_SHOWN: Final = 100


def path_segment_errors(text: str) -> str:
    """
    Return why a string cannot name an object, a namespace or a subresource in a path, or "" if it can.

    A gateway resolves `..`, and a server decodes `a%2Fb`. Either way, the path would lead to another object.
    Follows: apimachinery pkg/api/validation/path/name.go.
    """
    if text in (".", ".."):
        return f"may not be '{text}'"
    return next((f"may not contain '{mark}'" for mark in "/%" if mark in text), "")


# Object names are cached, because each name occurs in at least three requests.
@lru_cache(maxsize=4096)
def _segment(text: str) -> str:
    """Raises: ValueError."""
    if why := path_segment_errors(text):
        raise ValueError(f"invalid name {text[:_SHOWN]!r}: it {why}")
    return quote(text, safe="", errors="surrogatepass")


# The subresources of a Namespace are not objects in that namespace.
_IN_A_NAMESPACE: Final = re.compile(r"/(?:api|apis/[^/]+)/[^/]+/namespaces/([^/]+)/(?!(?:status|finalize)$).")


def namespace_in(path: str) -> str:
    """Return the namespace of the object at a URL path; "" for all namespaces or a cluster-scoped object."""
    found = _IN_A_NAMESPACE.match(path)
    return found[1] if found else ""


class GroupVersionKind(NamedTuple):
    """The name of a type, as `apiVersion` and `kind` spell it."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        """Return `group/version`, or only the version for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.api_version}, Kind={self.kind}"


class Resource(NamedTuple):
    """A kind and the URL path of its objects: `/apis/GROUP/VERSION/namespaces/NS/PLURAL/NAME`."""

    group: str
    """"" for the core group."""

    version: str
    """Such as `v1`."""

    plural: str
    """The name in URLs."""

    kind: str
    """The name in manifests."""

    namespaced: bool = True
    """Whether objects of this kind are in a namespace."""

    singular: str = ""
    """A name that people may type."""

    short_names: tuple[str, ...] = ()
    """Shorter names that people may type."""

    @property
    def api_version(self) -> str:
        """Return `group/version`, or only the version for the core group."""
        return self.gvk.api_version

    @property
    def gvk(self) -> GroupVersionKind:
        """The kind without its place in URLs."""
        return GroupVersionKind(self.group, self.version, self.kind)

    @property
    def group_resource(self) -> str:
        """Return `plural.group`, as in error messages and CRD names; only the plural for the core group."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, *, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """
        Return the URL path of the collection, an object or a subresource.

        Args: namespace is "" for all namespaces, or for a cluster-scoped kind.
        Raises: ValueError for a string that would change the path.
        """
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        parts = [root]
        if self.namespaced and namespace:
            parts += ["namespaces", _segment(namespace)]
        parts.append(self.plural)
        parts += [_segment(part) for part in (name, subresource) if part]
        return "/".join(parts)

    def __str__(self) -> str:
        return f"{self.group_resource}/{self.version}"
