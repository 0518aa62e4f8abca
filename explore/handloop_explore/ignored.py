"""Parses entries such as `secrets:data.password`, which an author excludes from comparisons."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any, NamedTuple, Self

from handloop_explore.difference import by_type


class Ignored(NamedTuple):
    """
    Fields of a kind's objects, which comparisons leave out.

    The path has the same format as in reported differences; an empty path means whole objects. Kind and path
    can contain `*`.
    """

    kind: str
    path: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """
        Return the entry for a text such as `secrets:data.password`, `*:metadata.name` or `jobs`.

        Raises: ValueError if the text has no kind, or a colon without a path.
        """
        kind, colon, path = text.partition(":")
        if not kind or bool(colon) != bool(path):
            raise ValueError(f"{text!r} does not name fields as in secrets:data.password")
        return cls(kind.partition(".")[0].lower(), path)

    def fits(self, kind: str) -> bool:
        """Return whether the entry applies to a kind, which it names in the singular or plural."""
        kind = kind.lower()
        return any(
            fnmatchcase(name, self.kind) for name in (kind, f"{kind}s", f"{kind}es", f"{kind[:-1]}ies")
        )

    def without(self, value: Any, path: str = "") -> Any:
        """Return a document without these fields."""
        value = by_type(value)
        if not isinstance(value, dict):
            return value
        inner = {name: (one, f"{path}.{name}" if path else name) for name, one in value.items()}
        return {
            name: self.without(one, at) for name, (one, at) in inner.items() if not fnmatchcase(at, self.path)
        }
