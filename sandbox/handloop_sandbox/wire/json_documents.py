"""Reads YAML as kubectl does, which converts it to JSON, so there are no aliases and keys are strings."""

from __future__ import annotations

import json
from typing import Any, Final

import yaml

from handloop_sandbox.grammar.yaml_text import from_yaml

_MAX_PARTS: Final = 1_000_000
"""The most parts that a text may have. Objects that a server accepts have fewer."""


def json_documents(text: str) -> list[Any]:
    """
    Return the documents of a text, with None for an empty document.

    Raises: ValueError for a text that is not YAML, cannot be expressed in JSON, or repeats aliases too much.
    """
    try:
        documents = from_yaml(text)
        if _size(documents, {}) <= _MAX_PARTS:
            return list(json.loads(json.dumps(documents)))
    except (yaml.YAMLError, TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    raise ValueError("its aliases repeat too much")


def _size(value: Any, known: dict[int, int]) -> int:
    """
    Return how many parts a document has if its aliases are expanded.

    Raises: ValueError for an endless one.
    """
    if not isinstance(value, list | dict):
        return 1
    if id(value) not in known:
        known[id(value)] = -1
        parts = value.values() if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(_size(part, known) for part in parts)
    if known[id(value)] < 0:
        raise ValueError("an alias is in its own anchor")
    return known[id(value)]
