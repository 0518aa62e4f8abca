from __future__ import annotations

import pytest

from handloop.apis.label_syntax import label_key_errors, label_value_errors


@pytest.mark.parametrize("key", ["a", "A-b_c.9", "x" * 63, "example.com/a", f"{'x' * 253}/a", "1.2/3"])
def test_valid_keys(key: str) -> None:
    """A name of up to 63 characters, perhaps behind a DNS name of up to 253."""
    assert label_key_errors(key) == []


CHARACTERS = "name part must consist of alphanumeric characters"
EMPTY = "name part must be non-empty"
SUBDOMAIN = "prefix part a lowercase RFC 1123 subdomain must consist of lower case"


@pytest.mark.parametrize(
    ("key", "errors"),
    [
        ("", [EMPTY, CHARACTERS]),
        ("-a", [CHARACTERS]),
        ("a-", [CHARACTERS]),
        ("ä", [CHARACTERS]),
        ("x" * 64, ["name part must be no more than 63 bytes"]),
        ("ä" * 32, ["name part must be no more than 63 bytes", CHARACTERS]),
        ("/a", ["prefix part must be non-empty"]),
        ("x/", [EMPTY, CHARACTERS]),
        ("X/a", [SUBDOMAIN]),
        ("a..b/c", [SUBDOMAIN]),
        (f"{'x' * 254}/a", ["prefix part must be no more than 253 bytes"]),
        (f"{'X' * 254}/a", ["prefix part must be no more than 253 bytes", SUBDOMAIN]),
        ("a/b/c", ["a valid label key must consist of alphanumeric characters"]),
    ],
)
def test_invalid_keys(key: str, errors: list[str]) -> None:
    """Every broken rule is reported, in the server's order."""
    found = label_key_errors(key)
    assert len(found) == len(errors)
    assert all(text.startswith(start) for text, start in zip(found, errors, strict=True))


@pytest.mark.parametrize("value", ["", "a", "A-b_c.9", "x" * 63])
def test_valid_values(value: str) -> None:
    """Empty, or a name of up to 63 characters."""
    assert label_value_errors(value) == []


@pytest.mark.parametrize(
    ("value", "errors"),
    [
        ("-a", ["a valid label must be an empty string or consist of"]),
        ("a b", ["a valid label must be an empty string or consist of"]),
        ("x" * 64, ["must be no more than 63 bytes"]),
        ("_" * 64, ["must be no more than 63 bytes", "a valid label must be an empty string or consist of"]),
        ("a\n", ["a valid label must be an empty string or consist of"]),
    ],
)
def test_invalid_values(value: str, errors: list[str]) -> None:
    """Every broken rule is reported, in the server's order."""
    found = label_value_errors(value)
    assert len(found) == len(errors)
    assert all(text.startswith(start) for text, start in zip(found, errors, strict=True))
