"""
Applies JSON patches as the API server does, which differs slightly from RFC 6902.

The differences from the RFC: `replace` creates a missing member of an existing object. `test` with null
succeeds if the member is missing. Negative indices count from the end. The first part of a path is ignored if
the path does not start with a slash. All failures have the same message (see `_refuse`).
Follows: gopkg.in/evanphx/json-patch.v4 patch.go.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final, NoReturn

import msgspec

from handloop_sandbox.wire.causes import invalid_value
from handloop_sandbox.wire.status import SERVER_REJECTED, StatusError, bad_request, failure, invalid_kind

MAX_OPERATIONS = 10000
MAX_COPIED_BYTES = 3 * 1024 * 1024
_NO_OBJECT = (
    "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type "
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)

_INDEX: Final = re.compile("[+-]?[0-9]{1,18}")
_TEXTS: Final = ("op", "path", "from")

Container = dict[str, Any] | list[Any]


def json_patch(current: dict[str, Any], operations: Any, body: bytes = b"") -> dict[str, Any]:
    """
    Apply the operations to an object, and return the new object.

    Args: operations is the decoded body. body is the JSON text that the client sent.
    Raises: StatusError 400 if operations is not a list of objects, 413 if there are too many, 422 if one of
    them fails.
    """
    checked = _checked(operations)
    document: Container = _copied(current)
    copied_bytes = 0
    spelled = _spelled_values(body)
    for index, operation in enumerate(checked):
        copied_bytes += _copied_bytes(document, operation) if operation.get("op") == "copy" else 0
        if copied_bytes > MAX_COPIED_BYTES:
            _refuse()
        apply = _OPERATIONS.get(_text(operation, "op"))
        if apply is None:
            _refuse()
        document = apply(document, operation)
        if apply is _test and spelled and not _is_spelled(_tested(document, operation), spelled[index]):
            _refuse()
    if not isinstance(document, dict):
        raise invalid_kind(
            "", "", "", [invalid_value("patch", json.dumps(document, separators=(",", ":")), _NO_OBJECT)]
        )
    return document


def _copied_bytes(document: Container, operation: dict[str, Any]) -> int:
    """
    Return the size of the value that an operation copies.

    The total size is limited, because a few operations that copy copies could exhaust the memory.
    """
    source, key = _find(document, _text(operation, "from"))
    return len(json.dumps(_get(source, key), separators=(",", ":")))


def _checked(operations: Any) -> list[dict[str, Any]]:
    if not isinstance(operations, list):
        raise bad_request(_undecodable(operations, "[]handlers.jsonPatchOp"))
    for operation in operations:
        if not isinstance(operation, dict):
            raise bad_request(_undecodable(operation, "handlers.jsonPatchOp"))
        for name in _TEXTS:
            if not isinstance(value := operation.get(name), str | None):
                raise bad_request(_undecodable(value, "string", f"struct field jsonPatchOp.{name} of"))
    if len(operations) > MAX_OPERATIONS:
        text = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        raise StatusError(failure(413, "RequestEntityTooLarge", text))
    return operations


def _undecodable(value: Any, go_type: str, where: str = "value of") -> str:
    kinds = {dict: "object", list: "array", str: "string", bool: "bool"}
    kind = kinds.get(type(value), "number")
    return f"error decoding patch: json: cannot unmarshal {kind} into Go {where} type {go_type}"


def _refuse() -> NoReturn:
    raise StatusError(failure(422, "Invalid", SERVER_REJECTED, details={}))


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_copied(child) for child in value]
    return value


def _text(operation: dict[str, Any], key: str) -> str:
    value = operation.get(key)
    if not isinstance(value, str):
        _refuse()
    return value


def _find(document: Container, path: str) -> tuple[Container, str]:
    """Return the object or list that contains a path's target, and the last part of the path."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")]
    if len(parts) < 2:  # noqa: PLR2004 no slash
        _refuse()
    container: Any = document
    for part in parts[1:-1]:
        container = _get(container, part)
        if not isinstance(container, (dict, list)):
            _refuse()
    return container, parts[-1]


def _get(container: Container, key: str) -> Any:
    if isinstance(container, dict):
        return container.get(key)
    return container[_index(key, len(container))]


def _index(key: str, size: int) -> int:
    if not _INDEX.fullmatch(key):
        _refuse()
    index = int(key)
    if not -size <= index < size:
        _refuse()
    return index % size


def _insert(container: Container, key: str, value: Any) -> None:
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        container.insert(_index(key, len(container) + 1), value)


def _delete(container: Container, key: str) -> None:
    if isinstance(container, list):
        del container[_index(key, len(container))]
    elif key in container:
        del container[key]
    else:
        _refuse()


def _add(document: Container, operation: dict[str, Any]) -> Container:
    container, key = _find(document, _text(operation, "path"))
    _insert(container, key, _copied(operation.get("value")))
    return document


def _remove(document: Container, operation: dict[str, Any]) -> Container:
    container, key = _find(document, _text(operation, "path"))
    _delete(container, key)
    return document


def _replace(document: Container, operation: dict[str, Any]) -> Container:
    path, value = _text(operation, "path"), _copied(operation.get("value"))
    if not path:
        if not isinstance(value, (dict, list)):
            _refuse()
        return value
    container, key = _find(document, path)
    if isinstance(container, list):
        container[_index(key, len(container))] = value
    else:
        container[key] = value
    return document


def _move(document: Container, operation: dict[str, Any]) -> Container:
    source, key = _find(document, _text(operation, "from"))
    value = _get(source, key)
    _delete(source, key)
    target, name = _find(document, _text(operation, "path"))
    _insert(target, name, value)
    return document


def _copy(document: Container, operation: dict[str, Any]) -> Container:
    source, key = _find(document, _text(operation, "from"))
    value = _copied(_get(source, key))
    target, name = _find(document, _text(operation, "path"))
    _insert(target, name, value)
    return document


def _test(document: Container, operation: dict[str, Any]) -> Container:
    if not same_json(_tested(document, operation), operation.get("value")):
        _refuse()
    return document


def _tested(document: Container, operation: dict[str, Any]) -> Any:
    path = _text(operation, "path")
    return _get(*_find(document, path)) if path else document


class _Operation(msgspec.Struct):
    value: msgspec.Raw = msgspec.Raw(b"null")


def _spelled_values(body: bytes) -> list[msgspec.Raw]:
    """Return the JSON text of each operation's value, as the client wrote it."""
    try:
        return [operation.value for operation in msgspec.json.decode(body, type=list[_Operation])]
    except msgspec.DecodeError:
        return []


def _is_spelled(found: Any, raw: msgspec.Raw) -> bool:
    """Return whether all strings in a value's JSON text are written exactly as Go would write them."""
    if isinstance(found, dict) and raw:
        inner = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        return all(_is_spelled(entry, inner[key]) for key, entry in found.items())
    if isinstance(found, list) and raw:
        return all(map(_is_spelled, found, msgspec.json.decode(raw, type=list[msgspec.Raw])))
    return not isinstance(found, str) or bytes(raw).strip() == _as_go(found)


def _as_go(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).translate(_ESCAPED).encode()


_ESCAPED: Final = {ord(char): f"\\u{ord(char):04x}" for char in "&<>\u2028\u2029"}


_OPERATIONS: dict[str, Callable[[Container, dict[str, Any]], Container]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def same_json(left: Any, right: Any) -> bool:
    """Return whether two JSON values have the same type and value. 1, 1.0 and true differ from each other."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same_json(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same_json, left, right))
    return bool(left == right)
