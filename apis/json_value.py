"""JSON without a declared type, as an immutable value."""

from __future__ import annotations

from typing import Any, Final

import msgspec


class JSON:
    """
    A part of an object without a declared shape: any JSON, null included.

    `JSON({"a": [1]})` holds the value's compact text, with sorted keys. The text has its own memory: it is
    never a slice that keeps a whole list page alive. Values are equal if their texts are; 1 and 1.0 are not.

    State: none that changes.
    """

    __slots__ = ("_text",)

    def __init__(self, value: Any = None) -> None:
        """
        Args: the value can be anything that msgspec encodes, and is not kept.

        Raises: TypeError for another type.
        """
        self._text: Final = msgspec.json.encode(value, order="sorted")

    def value(self) -> Any:
        """Return a new dict, list or scalar, which the caller may change. Every call decodes again."""
        return msgspec.json.decode(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JSON) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return f"JSON({self.value()!r})"
