from __future__ import annotations

import pytest

from handloop.sandbox import request_target


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("/a/b?c=d?e", ("header:1", "/a/b", "c=d?e")),
        ("http://other:2/a?b", ("other:2", "/a", "b")),
        ("https://user:word@other/a", ("other", "/a", "")),
        ("http://other", ("other", "/", "")),
        ("http://[::1]:2?b", ("[::1]:2", "/", "b")),
        ("*", ("header:1", "*", "")),
    ],
)
def test_the_parts_of_a_target(text: str, target: tuple[str, str, str]) -> None:
    """The origin form is for the host of the header, the absolute form names its own."""
    assert request_target.of(text, "header:1") == target


def test_percent_signs() -> None:
    """Each stands before two hexadecimal digits."""
    assert request_target.is_escaped("/a%2Fb%ff")
    assert not any(request_target.is_escaped(path) for path in ("/%", "/%a", "/%zz", "/a%2/b"))
