from __future__ import annotations

import pytest

from handloop_sandbox.wire import names


@pytest.mark.parametrize(
    ("value", "good"),
    [
        ("a", True),
        ("a-1.b", True),
        ("A", False),
        ("-a", False),
        ("a..b", False),
        ("", False),
        ("a" * 254, False),
    ],
)
def test_subdomains(value: str, good: bool) -> None:
    """A subdomain is made of lower-case labels and is at most 253 characters long."""
    assert (names.dns_1123_subdomain(value) == []) is good


def test_a_label_has_no_dots() -> None:
    """A DNS label refuses dots and more than 63 characters; a DNS-1035 label also a digit in front."""
    assert names.dns_1123_label("a-1") == []
    assert names.dns_1123_label("a.b")
    assert names.dns_1123_label("a" * 64)[0] == "must be no more than 63 characters"
    assert names.dns_1123_label("1a") == []
    assert names.dns_1035_label("1a")


def test_the_server_words_for_a_bad_name() -> None:
    """The complaint has the server's text, example and pattern."""
    (complaint,) = names.dns_1123_subdomain("Bad")
    assert complaint == (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
        "and must start and end with an alphanumeric character "
        "(e.g. 'example.com', regex used for validation is "
        r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    )


def test_qualified_names_have_an_optional_domain() -> None:
    """A label key is a name with at most one domain before it; each part is complained about."""
    assert names.qualified_name("app") == []
    assert names.qualified_name("example.com/App_1.x") == []
    assert names.qualified_name("a/b/c")[0].startswith("a valid label key must consist of")
    assert names.qualified_name("/a") == ["prefix part must be non-empty"]
    assert names.qualified_name("A.b/a")[0].startswith("prefix part a lowercase RFC 1123 subdomain")
    assert names.qualified_name("")[0] == "name part must be non-empty"
    assert names.qualified_name("a" * 64) == ["name part must be no more than 63 bytes"]


def test_label_values_may_be_empty() -> None:
    """A label value may be empty but not start with a dash or be longer than 63 bytes."""
    assert names.label_value("") == []
    assert names.label_value("A_b.1") == []
    assert names.label_value("-a")
    assert names.label_value("a" * 64) == ["must be no more than 63 bytes"]


def test_path_segments() -> None:
    """Anything may be a path segment that is not `.`, `..` or has a slash or percent sign."""
    assert names.path_segment("system:x") == []
    assert names.path_segment("..") == ["may not be '..'"]
    assert names.path_segment("a/b%") == ["may not contain '/'", "may not contain '%'"]
