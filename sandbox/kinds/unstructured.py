"""
What Go says when a value that was already decoded does not fit the member it should become.

Follows: apimachinery pkg/runtime/converter.go (FromUnstructured), which strategic merge patches go through;
the other patches are decoded from JSON, whose complaints are the ones that come in here.
"""

from __future__ import annotations

import re
from typing import Final

_JSON: Final = re.compile(
    r"json: cannot unmarshal (\w+)(?: (\S+))? into Go (?:struct field \S+|value) of type (\S+)"
)
_KINDS: Final = {"array": "slice", "object": "map", "bool": "bool", "string": "string"}
_SCALARS: Final = re.compile(r"string|bool|u?int\d*|float\d+")
_NUMBERS: Final = ("int", "uint", "float")


def restoring(complaint: str) -> str:
    """The complaint about JSON in the converter's words; others stay as they are."""
    found = _JSON.fullmatch(complaint)
    if found is None:
        return f"error decoding from json: {complaint}" if "base64" in complaint else complaint
    kind = _KINDS.get(found[1]) or ("float64" if "." in (found[2] or "") else "int64")
    return _unfit(kind, found[3])


def _unfit(kind: str, go_type: str) -> str:
    """The complaint about a value of a kind of Go's that should become a type."""
    if go_type.startswith("map["):
        return f"cannot restore map from {kind}"
    if go_type.startswith("[]"):
        return f"cannot restore slice from {kind}"
    if not _SCALARS.fullmatch(go_type):
        return f"cannot restore struct from: {kind}"
    # Go converts whole numbers to texts and to each other, and then thinks better of it
    if kind.startswith(_NUMBERS) and (go_type == "string" or go_type.startswith(_NUMBERS)):
        return f"cannot convert {kind} to {go_type}"
    return f"unrecognized type: {go_type}"
