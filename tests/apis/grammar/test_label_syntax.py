from __future__ import annotations

from collections.abc import Callable

import pytest

from handloop.apis.grammar.label_syntax import label_key_errors, label_value_errors


@pytest.mark.parametrize("key", ["a", "A-b_c.9", "x" * 63, "example.com/a", f"{'x' * 253}/a", "1.2/3"])
def test_valid_keys(key: str) -> None:
    """A name of up to 63 characters, perhaps behind a DNS name of up to 253."""
    assert label_key_errors(key) == []


@pytest.mark.parametrize("value", ["", "a", "A-b_c.9", "x" * 63])
def test_valid_values(value: str) -> None:
    """Empty, or a name of up to 63 characters."""
    assert label_value_errors(value) == []


CHARACTERS = "name part must consist of alphanumeric characters"
EMPTY = "name part must be non-empty"
SUBDOMAIN = "prefix part a lowercase RFC 1123 subdomain must consist of lower case"
VALUE = "a valid label must be an empty string or consist of"
KEYS, VALUES = label_key_errors, label_value_errors


@pytest.mark.parametrize(
    ("errors_of", "text", "errors"),
    [
        (KEYS, "", [EMPTY, CHARACTERS]),
        (KEYS, "-a", [CHARACTERS]),
        (KEYS, "a-", [CHARACTERS]),
        (KEYS, "ä", [CHARACTERS]),
        (KEYS, "x" * 64, ["name part must be no more than 63 bytes"]),
        (KEYS, "ä" * 32, ["name part must be no more than 63 bytes", CHARACTERS]),
        (KEYS, "/a", ["prefix part must be non-empty"]),
        (KEYS, "x/", [EMPTY, CHARACTERS]),
        (KEYS, "X/a", [SUBDOMAIN]),
        (KEYS, "a..b/c", [SUBDOMAIN]),
        (KEYS, f"{'x' * 254}/a", ["prefix part must be no more than 253 bytes"]),
        (KEYS, f"{'X' * 254}/a", ["prefix part must be no more than 253 bytes", SUBDOMAIN]),
        (KEYS, "a/b/c", ["a valid label key must consist of alphanumeric characters"]),
        (VALUES, "-a", [VALUE]),
        (VALUES, "a b", [VALUE]),
        (VALUES, "x" * 64, ["must be no more than 63 bytes"]),
        (VALUES, "_" * 64, ["must be no more than 63 bytes", VALUE]),
        (VALUES, "a\n", [VALUE]),
    ],
)
def test_every_broken_rule_is_reported(
    errors_of: Callable[[str], list[str]], text: str, errors: list[str]
) -> None:
    """Of keys and of values, in the server's order."""
    found = errors_of(text)
    assert len(found) == len(errors)
    assert all(error.startswith(start) for error, start in zip(found, errors, strict=True))
