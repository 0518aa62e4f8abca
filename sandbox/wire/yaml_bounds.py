"""
What a YAML text may cost before it is read.

The parser nests as deep as the text does, on the C stack, and an alias is a value that is written once and
counted a thousand times. Neither is known before the events of the text have been looked at, which is only
done for texts that could be meant so. Follows: go-yaml's limits, much lower.
"""

from __future__ import annotations

from typing import Any, Final

import yaml

_MAX_DEPTH: Final = 1000
_MAX_NODES: Final = 400_000
_HARMLESS_BYTES: Final = 100_000
_HARMLESS_MARKS: Final = 500
_NESTING: Final = "[{-?"
_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class TooMuchError(ValueError):
    """A text is nested too deeply, or means far more than it says."""


def check(text: str) -> None:
    """
    Refuse a text that is not worth reading.

    Raises: TooMuchError; yaml.YAMLError for what is no YAML.
    """
    harmless = len(text) <= _HARMLESS_BYTES and "*" not in text
    if harmless and sum(text.count(mark) for mark in _NESTING) <= _HARMLESS_MARKS:
        return
    sizes: dict[str, int] = {}
    open_nodes: list[tuple[str | None, int]] = []
    total = 0
    for event in yaml.parse(text, Loader=_PARSER):
        size = 0
        match event:
            case yaml.AliasEvent():
                size = sizes.get(event.anchor or "", 1)
            case yaml.ScalarEvent():
                size = 1
                if event.anchor:
                    sizes[event.anchor] = 1
            case yaml.CollectionStartEvent():
                open_nodes.append((event.anchor, total))
                size = 1
            case yaml.CollectionEndEvent():
                anchor, before = open_nodes.pop()
                if anchor:
                    sizes[anchor] = total - before
        total += size
        if len(open_nodes) > _MAX_DEPTH:
            raise TooMuchError("exceeded max depth")
        if total > _MAX_NODES + len(text):
            raise TooMuchError("document contains excessive aliasing")
