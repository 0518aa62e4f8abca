"""Reads YAML as kubectl does: converted to JSON, with string keys and without aliases."""

from __future__ import annotations

import json
from typing import Any, Final

import yaml

from handloop_sandbox.grammar.yaml_text import from_yaml

_MAX_PARTS: Final = 1_000_000
"""The maximum number of values in a text. Objects that a server accepts contain fewer."""


def json_documents(text: str) -> list[Any]:
    """
    Return the documents of a YAML text, with None for an empty document.

    Raises: ValueError if the text is not YAML, cannot be expressed in JSON, or expands too much through
    aliases.
    """
    try:
        documents = from_yaml(text)
        if _size(documents, {}) <= _MAX_PARTS:
            return list(json.loads(json.dumps(documents)))
    except (yaml.YAMLError, TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    raise ValueError("its aliases expand to too many values")


def _size(value: Any, known: dict[int, int]) -> int:
    """
    Return the number of values in a document after expanding its aliases.

    Raises: ValueError if an alias refers to a value that contains it.
    """
    if not isinstance(value, list | dict):
        return 1
    if id(value) not in known:
        known[id(value)] = -1
        parts = value.values() if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(_size(part, known) for part in parts)
    if known[id(value)] < 0:
        raise ValueError("an alias refers to a value that contains it")
    return known[id(value)]
