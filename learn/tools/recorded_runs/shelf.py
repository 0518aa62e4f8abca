"""
The recorded runs in the repository, a file each.

A state stands there as what differs from the state before, by path: {"informers/1/fifo": 0}.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tools.steps import ROOT

FOLDER: Final = ROOT / "learn/docs/live-page/runs"
_NOTHING: Final = object()


def write(document: Mapping[str, Any], folder: Path = FOLDER) -> int:
    """Keep a document in the repository: a step, or the changes of a state, per line. Returns: its bytes."""
    kept = {**document, "states": list(_shrunk(document["states"]))}
    lines = {key: kept[key] for key in ("steps", "states")}
    head = json.dumps({key: value for key, value in kept.items() if key not in lines}, ensure_ascii=False)
    body = [
        f'"{key}": [\n'
        + ",\n".join(json.dumps(each, separators=(",", ":"), ensure_ascii=False) for each in value)
        + "\n]"
        for key, value in lines.items()
    ]
    text = ",\n".join([head.removesuffix("}"), *body]) + "\n}\n"
    folder.mkdir(parents=True, exist_ok=True)
    return (folder / f"{document['name']}.json").write_bytes(text.encode())


def read(name: str, folder: Path = FOLDER) -> dict[str, Any]:
    """A document of the repository, its states in full."""
    document: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return {**document, "states": list(_grown(document["states"]))}


def _shrunk(states: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    before: Any = {}
    for entry in states:
        yield {"seq": entry["seq"], "changes": dict(sorted(_changes(before, entry["state"], ())))}
        before = entry["state"]


def _changes(before: Any, after: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """What differs, by path. A map that lost a key, and a list of another length, differ as a whole."""
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() <= after.keys():
        for key, value in after.items():
            yield from _changes(before.get(key, _NOTHING), value, (*path, key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, pair in enumerate(zip(before, after, strict=True)):
            yield from _changes(*pair, (*path, str(index)))
    elif before != after:
        yield "/".join(path), after


def _grown(entries: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    state: Any = {}
    for entry in entries:
        for path, value in entry["changes"].items():
            state = _changed(state, path.split("/"), value) if path else value
        yield {"seq": entry["seq"], "state": state}


def _changed(value: Any, path: Sequence[str], new: Any) -> Any:
    """A copy of a value that has new at a path."""
    if not path:
        return new
    if isinstance(value, list):
        index = int(path[0])
        return [*value[:index], _changed(value[index], path[1:], new), *value[index + 1 :]]
    return {**value, path[0]: _changed(value.get(path[0]), path[1:], new)}
