"""Parses the address of the page that `top` shows, and the key that it follows."""

from __future__ import annotations

from argparse import ArgumentTypeError
from urllib.parse import urlsplit

from handloop_learn.live.url_file import URL_FILE


def parse_address(text: str) -> str:
    """
    Return the page's URL without a path, such as `http://127.0.0.1:8082`.

    Args: text is a URL, `host:port` or `:port`. Raises: ArgumentTypeError if the text is none of these.
    """
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        scheme, host, port = parts.scheme, parts.hostname or "127.0.0.1", parts.port
    except ValueError:
        scheme, host, port = "", "", None
    if scheme not in ("http", "https") or (port is None and "://" not in text):
        raise ArgumentTypeError(f"{text} is not an address; write host:port or a URL, such as 127.0.0.1:8082")
    name = f"[{host}]" if ":" in host else host
    return f"{scheme}://{name}" + ("" if port is None else f":{port}")


def parse_key(text: str) -> str:
    """
    Return an object's key, which is `namespace/name`, or only the name if it has no namespace.

    Raises: ArgumentTypeError if the text is not a key.
    """
    if text.count("/") > 1 or not all(text.split("/")):
        raise ArgumentTypeError(f"{text!r} is not a key; write namespace/name, such as default/example-foo")
    return text


def sandbox_url() -> str:
    """
    Return the URL of the live page of this folder's sandbox.

    Raises: OSError with a command to type, if no sandbox with a live page runs here.
    """
    try:
        return parse_address(URL_FILE.read_text(encoding="utf-8").strip())
    except (OSError, ArgumentTypeError) as error:
        raise OSError(
            f"no sandbox with a live page runs in this folder ({URL_FILE} is not there): start `python -m "
            "controller --sandbox`, or set --address to the --debug-listen address of a running program"
        ) from error
