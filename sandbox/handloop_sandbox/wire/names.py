"""
The rules for names, label keys and label values, with the server's error messages.

Every function returns a list of messages about a string, which is empty if the string is valid.
Follows: apimachinery pkg/util/validation/validation.go.
"""

from __future__ import annotations

import re
from typing import Final

_LABEL_FORMAT: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_FORMAT: Final = rf"{_LABEL_FORMAT}(\.{_LABEL_FORMAT})*"
_DNS_1035_FORMAT: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED_FORMAT: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE_FORMAT: Final = f"({_QUALIFIED_FORMAT})?"

_LABEL = re.compile(_LABEL_FORMAT)
_SUBDOMAIN = re.compile(_SUBDOMAIN_FORMAT)
_DNS_1035 = re.compile(_DNS_1035_FORMAT)
_QUALIFIED = re.compile(_QUALIFIED_FORMAT)
_LABEL_VALUE = re.compile(_LABEL_VALUE_FORMAT)

MAX_LABEL: Final = 63
MAX_SUBDOMAIN: Final = 253

_LABEL_TEXT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_DNS_1035_TEXT: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character"
)
_QUALIFIED_TEXT: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_LABEL_VALUE_TEXT: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_QUALIFIED_EXAMPLES: Final = ("MyName", "my.name", "123-abc")


def regex_error(text: str, pattern: str, *examples: str) -> str:
    """Return a message with examples and the pattern, like validation.RegexError."""
    if not examples:
        return f"{text} (regex used for validation is '{pattern}')"
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{text} (e.g. {shown}regex used for validation is '{pattern}')"


def dns_1123_label(value: str) -> list[str]:
    """Check a DNS-1123 label: lower-case, at most 63 characters."""
    problems = [] if len(value) <= MAX_LABEL else [f"must be no more than {MAX_LABEL} characters"]
    if not _LABEL.fullmatch(value) and _SUBDOMAIN.fullmatch(value):
        problems.append("must not contain dots")
    elif not _LABEL.fullmatch(value):
        problems.append(regex_error(_LABEL_TEXT, _LABEL_FORMAT, "my-name", "123-abc"))
    return problems


def dns_1123_subdomain(value: str) -> list[str]:
    """Check a DNS-1123 subdomain: dot-separated lower-case labels, at most 253 characters."""
    problems = [] if len(value) <= MAX_SUBDOMAIN else [f"must be no more than {MAX_SUBDOMAIN} characters"]
    if not _SUBDOMAIN.fullmatch(value):
        problems.append(regex_error(_SUBDOMAIN_TEXT, _SUBDOMAIN_FORMAT, "example.com"))
    return problems


def dns_1035_label(value: str) -> list[str]:
    """Check a DNS-1035 label: lower-case, starting with a letter, at most 63 characters."""
    problems = [] if len(value) <= MAX_LABEL else [f"must be no more than {MAX_LABEL} characters"]
    if not _DNS_1035.fullmatch(value):
        problems.append(regex_error(_DNS_1035_TEXT, _DNS_1035_FORMAT, "my-name", "abc-123"))
    return problems


def path_segment(value: str) -> list[str]:
    """Check a name that becomes one segment of a URL path."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return [f"may not contain '{part}'" for part in ("/", "%") if part in value]


def label_value(value: str) -> list[str]:
    """Check a label value."""
    problems = [] if len(value) <= MAX_LABEL else [f"must be no more than {MAX_LABEL} bytes"]
    if not _LABEL_VALUE.fullmatch(value):
        problems.append(regex_error(_LABEL_VALUE_TEXT, _LABEL_VALUE_FORMAT, "MyValue", "my_value", "12345"))
    return problems


def qualified_name(value: str) -> list[str]:
    """Check a label key, annotation key or finalizer, which can have a `domain/` prefix."""
    parts = value.split("/")
    if len(parts) > 2:  # noqa: PLR2004 - prefix and name
        text = regex_error(f"a valid label key {_QUALIFIED_TEXT}", _QUALIFIED_FORMAT, *_QUALIFIED_EXAMPLES)
        return [f"{text} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    problems = []
    if len(parts) > 1:
        if not parts[0]:
            problems.append("prefix part must be non-empty")
        else:
            problems += [f"prefix part {problem}" for problem in dns_1123_subdomain(parts[0])]
    return problems + _name_part(parts[-1])


def _name_part(name: str) -> list[str]:
    problems = []
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > MAX_LABEL:
        problems.append(f"name part must be no more than {MAX_LABEL} bytes")
    if not _QUALIFIED.fullmatch(name):
        problems.append(regex_error(f"name part {_QUALIFIED_TEXT}", _QUALIFIED_FORMAT, *_QUALIFIED_EXAMPLES))
    return problems
