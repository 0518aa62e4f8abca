"""Query parameters."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl


class Query:
    """Query parameters: a name may occur more than once, the first one counts."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, list[str]]) -> None:
        self._values = values

    @classmethod
    def parse(cls, text: str) -> Query:
        """Read the part of a URL after the question mark."""
        values: dict[str, list[str]] = {}
        for name, value in parse_qsl(text, keep_blank_values=True):
            values.setdefault(name, []).append(value)
        return cls(values)

    def get(self, name: str) -> str | None:
        """The first value, None when absent."""
        values = self._values.get(name)
        return values[0] if values else None

    def all(self, name: str) -> list[str]:
        """Every value of a name."""
        return list(self._values.get(name, ()))


EMPTY_QUERY = Query({})
