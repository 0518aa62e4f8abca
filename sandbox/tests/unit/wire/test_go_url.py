from __future__ import annotations

import pytest

from handloop_sandbox.wire.go_url import GoUrl, parse_request_url


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("HTTP://u:p@h:1/a?b?c", GoUrl("http", "h:1", "/a", "b?c")),
        ("mailto:a@b", GoUrl("mailto", "", "", "")),
        ("*", GoUrl("", "", "*", "")),
        ("//a/b", GoUrl("", "", "//a/b", "")),
        ("postgres://a:1,b:2/x", GoUrl("postgres", "a:1,b:2", "/x", "")),
        ("http://[fe80::1%25eth0]:1/", GoUrl("http", "[fe80::1%eth0]:1", "/", "")),
        ("/a#b", GoUrl("", "", "/a#b", "")),
    ],
)
def test_what_is_a_url(text: str, url: GoUrl) -> None:
    """Without a scheme it is a path; a list of hosts is let through, but not over http."""
    assert parse_request_url(text) == url


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty url"),
        (":a", "missing protocol scheme"),
        ("http://a:1,b:2/x", 'invalid port ":1,b:2" after host'),
        ("http://[1.2.3.4]/", "invalid IP-literal"),
        ("http://a[::1]/", "invalid IP-literal"),
        ("http://[::1/", "missing ']' in host"),
        ("http://[x]/", 'invalid host: ParseAddr("x"): unable to parse IP'),
        ("http://a%20b/", 'invalid URL escape "%20"'),
        ("http://a b/", 'invalid character " " in host name'),
        ("http://u%zz@a/", 'invalid URL escape "%zz"'),
    ],
)
def test_what_is_none(text: str, problem: str) -> None:
    """In Go's words; the others are recorded in the contract tests of expressions."""
    with pytest.raises(ValueError) as raised:
        parse_request_url(text)
    assert str(raised.value) == problem
