"""What `top` shows: the page at an address or of this folder's sandbox, and perhaps only one key."""

from __future__ import annotations

from argparse import ArgumentTypeError
from urllib.parse import urlsplit

from handloop_learn.live.url_file import URL_FILE


def parse_address(text: str) -> str:
    """
    An address as the page's URL, without a path: `http://127.0.0.1:8082`.

    Args: text is a URL, `host:port` or `:port`. Raises: ArgumentTypeError.
    """
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        scheme, host, port = parts.scheme, parts.hostname or "127.0.0.1", parts.port
    except ValueError:
        scheme, host, port = "", "", None
    if scheme not in ("http", "https") or (port is None and "://" not in text):
        raise ArgumentTypeError(f"{text} is not an address: give host:port or a URL, such as 127.0.0.1:8082")
    name = f"[{host}]" if ":" in host else host
    return f"{scheme}://{name}" + ("" if port is None else f":{port}")


def parse_key(text: str) -> str:
    """
    The key of an object: `namespace/name`, or only the name if it has no namespace.

    Raises: ArgumentTypeError.
    """
    if text.count("/") > 1 or not all(text.split("/")):
        raise ArgumentTypeError(f"{text!r} is not a key: give namespace/name, such as default/example-foo")
    return text


def sandbox_url() -> str:
    """The URL of the sandbox's page. Raises: OSError with a sentence on what to type."""
    try:
        return parse_address(URL_FILE.read_text(encoding="utf-8").strip())
    except (OSError, ArgumentTypeError) as error:
        raise OSError(
            f"no sandbox with a live page runs in this folder ({URL_FILE} is not there): start "
            "`python -m controller --sandbox`, or give --address, that of a program's --debug-listen"
        ) from error
