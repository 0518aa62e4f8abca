"""JSON without a declared type, as an immutable value."""

from __future__ import annotations

from typing import Any, Final

import msgspec


class JSON:
    """
    A part of an object without a declared shape: any JSON, including null.

    `JSON({"a": [1]})` stores the value as compact text with sorted keys. The text is always a copy, because a
    slice would keep a whole list page in memory. Values are equal if their texts are equal; 1 and 1.0 are
    not.

    State: a JSON is immutable.
    """

    __slots__ = ("_text",)

    def __init__(self, value: Any = None) -> None:
        """
        Encode a value of any type that msgspec encodes. Only the encoded text is stored.

        Raises: TypeError for a value that msgspec cannot encode.
        """
        self._text: Final = msgspec.json.encode(value, order="sorted")

    def value(self) -> Any:
        """Decode the text to a new dict, list or scalar on every call. The caller may change the result."""
        return msgspec.json.decode(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JSON) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return f"JSON({self.value()!r})"
