"""The states of a recording in full, as the page puts them together."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any


def whole_states(run: Mapping[str, Any]) -> dict[int, Any]:
    """Each state by the seq of its step, from what differs from the state before."""
    state: Any = {}
    found = {}
    for entry in run["states"]:
        state = copy.deepcopy(state)
        for path, value in entry["changes"].items():
            *names, last = path.split("/")
            node = state
            for name in names:
                node = node[int(name)] if isinstance(node, list) else node[name]
            if not path:
                state = value
            elif isinstance(node, list):
                node[int(last)] = value
            else:
                node[last] = value
        found[entry["seq"]] = state
    return found
