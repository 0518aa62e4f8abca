"""Reads and writes the repository's recordings. Each line of a file is one step, or one state's changes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tools.steps import ROOT

FOLDER: Final = ROOT / "learn/docs/live-page/runs"


def write(document: Mapping[str, Any], folder: Path = FOLDER) -> int:
    """Write a document to the repository. Returns: its size in bytes."""
    lines = {key: document[key] for key in ("steps", "states")}
    head = json.dumps({key: value for key, value in document.items() if key not in lines}, ensure_ascii=False)
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
    """Return a document of the repository."""
    document: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return document
