"""Reads YAML as kubectl does: as JSON, which has no aliases, and in which keys are strings."""

from __future__ import annotations

import json
from typing import Any, Final

import yaml

from handloop_sandbox.grammar.yaml_text import from_yaml

_MAX_PARTS: Final = 1_000_000
"""Of a text: more than objects that a server takes can have."""


def json_documents(text: str) -> list[Any]:
    """
    The documents of a text; None for an empty one.

    Raises: ValueError for what is no YAML, has no JSON, or repeats its aliases without end.
    """
    try:
        documents = from_yaml(text)
        if _size(documents, {}) <= _MAX_PARTS:
            return list(json.loads(json.dumps(documents)))
    except (yaml.YAMLError, TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    raise ValueError("its aliases repeat too much")


def _size(value: Any, known: dict[int, int]) -> int:
    """How many parts a document has, its aliases written out. Raises: ValueError for one in itself."""
    if not isinstance(value, list | dict):
        return 1
    if id(value) not in known:
        known[id(value)] = -1
        parts = value.values() if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(_size(part, known) for part in parts)
    if known[id(value)] < 0:
        raise ValueError("an alias is in its own anchor")
    return known[id(value)]
