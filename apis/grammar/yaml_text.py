"""
Writes YAML that kubectl reads as intended, and reads manifests as kubectl does.

kubectl reads YAML with go-yaml v2. Other programs use v3 or parsers of YAML 1.2. Some of them parse strings
such as `y`, `1e3` or `0o17` as booleans or numbers, and PyYAML writes these strings without quotes. This
module quotes each string that any of them would misread.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar, Final

import yaml

_TEXT: Final = "tag:yaml.org,2002:str"
# This matches more than numbers, times and base-60 numbers, because needless quotes do no harm.
_LIKE_A_NUMBER: Final = re.compile(r"[-+]?\.?[0-9][0-9a-fA-FxXoObB_.:+TtZz-]*", re.ASCII)
# Any capitalization of these words is read as a boolean, null or a key; .inf and .nan can also have a sign.
_WORDS: Final = frozenset(
    {"", "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nil", "~", "<<", "="}
)
_NO_NUMBERS: Final = frozenset({".inf", ".nan"})
_TO_BASE_60: Final = re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$")
_NEVER_MEANT: Final = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value")


def is_plain(text: str) -> bool:
    """Return whether every YAML parser would read this text as a string if it had no quotes."""
    low = text.lower()
    return not (low in _WORDS or low.lstrip("+-") in _NO_NUMBERS or _LIKE_A_NUMBER.fullmatch(text))


class _Dumper(yaml.SafeDumper):
    """
    Writes no anchors and aliases.

    Multi-line strings become blocks, and a list of one-line strings is written on one line.
    """

    def ignore_aliases(self, _: object) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None if is_plain(text) else "'"
    return dumper.represent_scalar(_TEXT, text, style=style)


def _list(dumper: yaml.SafeDumper, values: list[object]) -> yaml.SequenceNode:
    words = all(isinstance(value, str) and "\n" not in value for value in values)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=words)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Reads times, numbers such as 12:30, `=` and a value `<<` as strings, as Kubernetes does."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {
        first: [
            (_TEXT, _TO_BASE_60),
            *((tag, pattern) for tag, pattern in resolvers if tag not in _NEVER_MEANT),
        ]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


_Loader.add_constructor("tag:yaml.org,2002:merge", _Loader.construct_yaml_str)


def from_yaml(text: str) -> list[Any]:
    """Return the documents in a text, with None for an empty document. Raises: yaml.YAMLError."""
    return list(yaml.load_all(text, Loader=_Loader))


def to_yaml(document: Any, *, in_ascii: bool = True) -> str:
    """Return a document as YAML, with its fields in order. Args: in_ascii escapes non-ASCII characters."""
    text: str = yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=110, allow_unicode=not in_ascii)
    return text


def scalar(text: str) -> str:
    """Return a one-line string as YAML to write after `name: `, quoted if necessary."""
    return to_yaml({"_": text})[3:].strip()
