"""JSON from the network: checked, pruned, and shown in messages."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from handloop.apis.meta import LAST_APPLIED
from handloop.client.errors import DecodeError

T = TypeVar("T")

_SHOWN_CHARS: Final = 200
_VALUES: Final = re.compile(rf'"(?:data|stringData|{re.escape(LAST_APPLIED)})"')
# This is far below the interpreter's recursion limit, and far above the depth of any field that we model.
_DEPTH: Final = 200
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_OPENING: Final = b"[{"
# This is msgspec's message about a null field, with the path to it.
_NULL_AT: Final = re.compile(r"got `null` - at `\$([^`]*)`$")
_STEP: Final = re.compile(r"\.([^.\[]+)|\[(\d+)\]")

MALFORMED: Final = (ValueError, RecursionError)
"""The errors of a JSON decoder for bad input. msgspec's errors and UnicodeDecodeError are ValueErrors."""


def require_utf8(data: bytes) -> None:
    """
    Refuse bytes that are not UTF-8, even in the fields that a typed decoder skips.

    Raises: DecodeError that names the place.
    """
    if data.isascii():
        return
    try:
        str(data, "utf-8")
    except UnicodeDecodeError as error:
        near = data[max(0, error.start - 20) : error.start + 20]
        raise DecodeError(f"invalid UTF-8 at byte {error.start}: {shown(near)}") from error


def shown(data: bytes) -> str:
    """
    Return the first 200 characters in ASCII, with control characters escaped, for a log line.

    The text is cut before anything that could be the values of a Secret. The object's kind is not checked,
    because it could follow later in the text, and list items have no kind.
    """
    text = data[: _SHOWN_CHARS * 4].decode("utf-8", "backslashreplace")[:_SHOWN_CHARS]
    if values := _VALUES.search(text):
        text = f"{text[: values.end()]}: ***"
    return text.encode("unicode_escape").decode("ascii")


def prune(data: bytes) -> bytes:
    """
    Return the same JSON, with null in place of values nested more than 200 levels deep.

    A recursive decoder fails on such data even in fields that it skips, and an object must not become
    unreadable because of a field that no code uses.
    """
    kept: list[bytes] = []
    depth = position = 0
    for match in _TOKEN.finditer(data):
        token = data[match.start()]
        if token in _OPENING:
            depth += 1
            if depth == _DEPTH + 1:
                kept += [data[position : match.start()], b"null"]
        elif token in b"]}":
            depth -= 1
            if depth == _DEPTH:
                position = match.end()
    if not kept:
        return data
    return b"".join([*kept, data[position:] if depth <= _DEPTH else b""])


def pruning(decode: Callable[[bytes], T]) -> Callable[[bytes], T]:
    """Return a decoder that prunes the data and tries again if the data is nested too deeply for decode."""

    def decode_any_depth(data: bytes) -> T:
        try:
            return decode(data)
        except RecursionError:
            return decode(prune(data))

    return decode_any_depth


def null_as_absent(decode: Callable[[bytes], T]) -> Callable[[bytes], T]:
    """
    Return a decoder that reads null in place of a list, map or other container as an absent field.

    Servers and controllers written in Go write null for an empty list, and Kubernetes treats the two alike.
    """

    def decode_without(data: bytes) -> T:
        whole: Any = None
        while True:
            try:
                return decode(data)
            except msgspec.ValidationError as error:
                place = _NULL_AT.search(str(error))
                if place is None:
                    raise
                whole = msgspec.json.decode(data) if whole is None else whole
                if not _remove_null(whole, _STEP.findall(place[1])):
                    raise
                data = msgspec.json.encode(whole)

    return decode_without


def _remove_null(whole: Any, steps: list[tuple[str, str]]) -> bool:
    """Remove the null to which an error of msgspec points, and return whether a null was found there."""
    *way, (last, _) = steps or [("", "")]
    for name, index in way:
        whole = whole[int(index)] if index else whole.get(name)
    if not isinstance(whole, dict) or whole.get(last, "") is not None:
        return False
    del whole[last]
    return True


def read(decode: Callable[[bytes], T], data: bytes, problem: str) -> T:
    """
    Decode data.

    Raises: DecodeError, whose message starts with the given problem and shows the data.
    """
    try:
        return decode(data)
    except MALFORMED as error:
        raise DecodeError(f"{problem} ({error}): {shown(data)}") from error
