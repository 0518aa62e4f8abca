"""A kind's names on the wire: group, version, kind, plural, scope, and the URLs made of them."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import NamedTuple
from urllib.parse import quote

# the names of objects come again and again: three requests and more for each
_quoted = lru_cache(maxsize=4096)(partial(quote, safe=""))


class GroupVersionKind(NamedTuple):
    """The name of a type, as `apiVersion` and `kind` spell it."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        """`group/version`, or the bare version for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.api_version}, Kind={self.kind}"


class Resource(NamedTuple):
    """A kind together with the place of its objects: `/apis/GROUP/VERSION/namespaces/NS/PLURAL/NAME`."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    singular: str = ""
    short_names: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        """`group/version`, or the bare version for the core group."""
        return self.gvk.api_version

    @property
    def gvk(self) -> GroupVersionKind:
        """The kind without its place."""
        return GroupVersionKind(self.group, self.version, self.kind)

    @property
    def group_resource(self) -> str:
        """`plural.group`, as error messages and CRD names spell it; the bare plural for the core group."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, *, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """
        The URL path of the collection, an object or a subresource.

        Args: namespace "" means all namespaces, or a cluster-scoped kind.
        """
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        parts = [root]
        if self.namespaced and namespace:
            parts += ["namespaces", _quoted(namespace)]
        parts.append(self.plural)
        parts += [_quoted(part) for part in (name, subresource) if part]
        return "/".join(parts)

    def __str__(self) -> str:
        return f"{self.group_resource}/{self.version}"
