"""
Rules for label keys and values, with the server's error texts.

Follows: apimachinery pkg/util/validation; the texts are those of kube-apiserver 1.36.
"""

from __future__ import annotations

import re
from typing import Final

_NAME_LIMIT: Final = 63
_PREFIX_LIMIT: Final = 253

_NAME_REGEX: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE_REGEX: Final = f"({_NAME_REGEX})?"
_PREFIX_REGEX: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"

_NAME: Final = re.compile(_NAME_REGEX)
_VALUE: Final = re.compile(_VALUE_REGEX)
_PREFIX: Final = re.compile(_PREFIX_REGEX)

_CHARACTERS: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric"
    " character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    f" '{_NAME_REGEX}')"
)
_BAD_KEY: Final = (
    f"a valid label key {_CHARACTERS}"
    " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
)
_BAD_VALUE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must"
    " start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used"
    f" for validation is '{_VALUE_REGEX}')"
)
_BAD_PREFIX: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must"
    " start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
    f" '{_PREFIX_REGEX}')"
)


def label_key_errors(key: str) -> list[str]:
    """Return the errors in a label key, `name` or `prefix/name`; [] if it is valid."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        return [_BAD_KEY]
    errors = _prefix_errors(prefix) if slash else []
    if not name:
        errors.append("name part must be non-empty")
    if len(name.encode()) > _NAME_LIMIT:
        errors.append(f"name part must be no more than {_NAME_LIMIT} bytes")
    if not _NAME.fullmatch(name):
        errors.append(f"name part {_CHARACTERS}")
    return errors


def label_value_errors(value: str) -> list[str]:
    """Return the errors in a label value; [] if it is valid."""
    errors = []
    if len(value.encode()) > _NAME_LIMIT:
        errors.append(f"must be no more than {_NAME_LIMIT} bytes")
    if not _VALUE.fullmatch(value):
        errors.append(_BAD_VALUE)
    return errors


def _prefix_errors(prefix: str) -> list[str]:
    if not prefix:
        return ["prefix part must be non-empty"]
    errors = []
    if len(prefix.encode()) > _PREFIX_LIMIT:
        errors.append(f"prefix part must be no more than {_PREFIX_LIMIT} bytes")
    if not _PREFIX.fullmatch(prefix):
        errors.append(f"prefix part {_BAD_PREFIX}")
    return errors
