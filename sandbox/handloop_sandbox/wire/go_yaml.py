"""
YAML as Go reads it into JSON: the first document, with go-yaml's plain scalars and errors.

Dates and `12:30` stay strings, `y` and `n` are booleans, and `1e3` and `0o10` are numbers. Unknown tags are
ignored. `check_bounds` rejects expensive documents before they are parsed: the parser recurses on the C stack
as deeply as the document is nested, and aliases can repeat a value many times over. The limits are like those
of go-yaml, but much lower.
Follows: sigs.k8s.io/yaml (goyaml.v2 resolve.go, decode.go).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import yaml

_MAX_DEPTH: Final = 1000
_MAX_NODES: Final = 400_000
_HARMLESS_BYTES: Final = 100_000
_HARMLESS_MARKS: Final = 500
_NESTING: Final = "[{-?"
_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class TooMuchError(ValueError):
    """A document is nested too deeply, or its aliases expand to far more than its size."""


def check_bounds(text: str) -> None:
    """
    Reject a document that would be too expensive to parse. Small and simple ones are not examined.

    Raises: TooMuchError; yaml.YAMLError if the document is not YAML.
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


DUPLICATES: Final = "yaml: unmarshal errors:\n"
"""The first line of the error message about duplicate keys."""

_TAG: Final = "tag:yaml.org,2002:"
INTEGER: Final = re.compile(r"[-+]?(?:0[bB][01_]+|0[xX][0-9a-fA-F_]+|0[oO]?[0-7_]+|0|[1-9][0-9_]*)$")
FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9_]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?$")
_NO_NUMBER: Final = re.compile(r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$")
_REPLACED: Final = (f"{_TAG}timestamp", f"{_TAG}int", f"{_TAG}float", f"{_TAG}value")
_LONGEST: Final = 400
_MAX_WHOLE: Final = 1e21


class YAMLError(ValueError):
    """A string is not valid YAML, or has a value that JSON cannot express. The message is Go's."""


class Parsed(NamedTuple):
    """A document's JSON value, and a message for each duplicate key."""

    value: Any
    duplicates: tuple[str, ...]

    @property
    def problem(self) -> str:
        """Strict decoding's error message about duplicate keys, or "" if all keys are unique."""
        return DUPLICATES + "\n".join(f"  {line}" for line in self.duplicates) if self.duplicates else ""


def parse(text: str) -> Parsed:
    """
    Parse the first document of a YAML text.

    Raises: YAMLError if the text is not valid YAML, or has a value that JSON cannot express.
    """
    try:
        check_bounds(text)
        loader: Any = _Loader(text)
        try:
            node = loader.get_node() if loader.check_node() else None
            value = None if node is None else loader.construct_document(node)
            return Parsed(value, tuple(_duplicates(node)))
        finally:
            loader.dispose()
    except (TooMuchError, RecursionError) as error:
        told = "exceeded max depth" if isinstance(error, RecursionError) else str(error)
        raise YAMLError(f"yaml: {told}") from error
    except yaml.YAMLError as error:
        raise YAMLError(f"yaml: {_told(error, text)}") from error


def _told(error: yaml.YAMLError, text: str) -> str:
    """Return the error message of go-yaml, with lines numbered as go-yaml counts them."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return str(error)
    mark = error.problem_mark
    if (error.problem or "").startswith("expected a mapping"):
        return "map merge requires map or sequence of maps as the value"
    if isinstance(error, yaml.composer.ComposerError):
        alias = re.match(r"\*(\w+)", text.splitlines()[mark.line][mark.column :])
        if alias:
            return f"unknown anchor '{alias[1]}' referenced"
    line = mark.line
    if line and isinstance(error, yaml.scanner.ScannerError):
        line += 1
    return f"line {line}: {error.problem}" if line else str(error.problem)


class _Loader(_PARSER):  # type: ignore[misc]  # the C loader when there is one
    """The safe YAML loader, but with Go's scalars and with strings as keys."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002 - PyYAML's
        """Return a mapping with string keys, in which `1` and `true` stay different keys."""
        self.flatten_mapping(node)
        return {
            _key(self.construct_object(key, deep=True), value): self.construct_object(value, deep=deep)
            for key, value in node.value
        }


def _integer(loader: Any, node: Any) -> int | float | str:
    del loader
    text = node.value.replace("_", "")
    sign, digits = (text[0], text[1:]) if text[0] in "+-" else ("", text)
    if digits.startswith("0") and digits[1:].isdigit():
        digits = f"0o{digits[1:]}"
    if len(digits) > _LONGEST:
        return _whole(float(f"{sign}{digits}"), node.value)
    value = int(f"{sign}{digits}", 0)
    return value if -(2**63) <= value < 2**64 else _whole(float(value), node.value)


def _float(loader: Any, node: Any) -> int | float | str:
    del loader
    if _NO_NUMBER.match(node.value):
        text = node.value.lower()
        raise YAMLError(
            f"json: unsupported value: {'NaN' if 'nan' in text else '-Inf' if '-' in text else '+Inf'}"
        )
    return _whole(float(node.value.replace("_", "")), node.value)


def _whole(value: float, text: str) -> int | float | str:
    """Return a float as an int if it is whole. A number outside float64's range stays a string."""
    if math.isinf(value):
        return text
    return int(value) if value.is_integer() and abs(value) < _MAX_WHOLE else value


def _binary(loader: Any, node: Any) -> str:
    return str(loader.construct_yaml_binary(node).decode(errors="replace"))


def _untagged(loader: Any, suffix: str, node: Any) -> Any:
    """Return the value of a node whose tag is unknown, and ignore the tag."""
    del suffix
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return node.value


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _REPLACED]
    for first, resolvers in _PARSER.yaml_implicit_resolvers.items()
}
_Loader.bool_values = {**_PARSER.bool_values, "y": True, "n": False}
_Loader.add_implicit_resolver(f"{_TAG}bool", re.compile("[yYnN]$"), list("yYnN"))
_Loader.add_implicit_resolver(f"{_TAG}int", INTEGER, list("-+0123456789"))
_Loader.add_implicit_resolver(f"{_TAG}float", FLOAT, list("-+0123456789."))
_Loader.add_implicit_resolver(f"{_TAG}float", _NO_NUMBER, list("-+."))
_Loader.add_constructor(f"{_TAG}int", _integer)
_Loader.add_constructor(f"{_TAG}float", _float)
_Loader.add_constructor(f"{_TAG}binary", _binary)
_Loader.add_constructor(f"{_TAG}merge", _Loader.construct_yaml_str)
_Loader.add_multi_constructor("!", _untagged)


def _key(key: Any, value: Any) -> str:
    if key is None:
        shown = json.dumps(str(value.value), ensure_ascii=False)
        raise YAMLError(f"unsupported map key of type: %!s(<nil>), key: <nil>, value: {shown}")
    return ("true" if key else "false") if isinstance(key, bool) else str(key)


def _duplicates(node: Any) -> Iterator[str]:
    """Yield a message for each duplicate key. Keys inside a nested value come before the value's own key."""
    if isinstance(node, yaml.SequenceNode):
        for entry in node.value:
            yield from _duplicates(entry)
    if not isinstance(node, yaml.MappingNode):
        return
    seen: set[tuple[str, str]] = set()
    for key, value in node.value:
        yield from _duplicates(value)
        if not isinstance(key, yaml.ScalarNode) or key.tag == f"{_TAG}merge":
            continue
        identity = (key.tag, key.value)
        if identity in seen:
            shown = json.dumps(key.value, ensure_ascii=False) if key.tag == f"{_TAG}str" else key.value
            yield f"line {value.start_mark.line + 1}: key {shown} already set in map"
        seen.add(identity)
