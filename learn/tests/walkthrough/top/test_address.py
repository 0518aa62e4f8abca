"""Where `top` looks for a program."""

from __future__ import annotations

from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from handloop_learn.live.url_file import URL_FILE
from handloop_learn.top.address import parse_address, sandbox_url


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("127.0.0.1:8082", "http://127.0.0.1:8082"),
        (":8082", "http://127.0.0.1:8082"),
        ("localhost:8082", "http://localhost:8082"),
        ("[::1]:8082", "http://[::1]:8082"),
        ("http://127.0.0.1:8082/debug/live/", "http://127.0.0.1:8082"),
        ("https://page.example/debug/live/", "https://page.example"),
    ],
)
def test_an_address_is_what_people_have_at_hand(text: str, url: str) -> None:
    """A --debug-listen, or the URL of the banner."""
    assert parse_address(text) == url


@pytest.mark.parametrize(
    "text", ["", "8082", "nonsense", "127.0.0.1:x", "ftp://a:1", "127.0.0.1:99999", "[x]:1"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    """With an example."""
    with pytest.raises(ArgumentTypeError, match="is not an address; write host:port"):
        parse_address(text)


def test_the_sandbox_of_this_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the file that it writes; without it a sentence has the line to type."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OSError, match=r"start `python -m controller --sandbox`, or set --address"):
        sandbox_url()
    URL_FILE.parent.mkdir()
    URL_FILE.write_text("http://127.0.0.1:4242/debug/live/\n", encoding="utf-8")
    assert sandbox_url() == "http://127.0.0.1:4242"
