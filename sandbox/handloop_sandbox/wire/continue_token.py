"""
Continue tokens, which contain the key and resource version at which a paged list continues.

Resource version -1 stands for the newest one. The rest of the list is then inconsistent with its beginning.
Follows: apiserver pkg/storage/continue.go.
"""

from __future__ import annotations

import base64
import binascii
from typing import NamedTuple

from handloop_sandbox.wire import go_json
from handloop_sandbox.wire.status import bad_request

INCONSISTENT = -1


class Continue(NamedTuple):
    """The contents of a continue token: the list continues at key `start`, as of resource version `rv`."""

    rv: int
    start: str

    def encode(self) -> str:
        """Return the token for the client."""
        text = f'{{"v":"meta.k8s.io/v1","rv":{self.rv},"start":{go_json.quoted(self.start)}}}'
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode(token: str) -> Continue:
    """
    Decode a continue token.

    Raises: StatusError 400 with a real server's message if the token is invalid.
    """
    try:
        padded = token + "=" * (-len(token) % 4)
        raw = base64.b64decode(padded, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise _invalid(f"illegal base64 data at input byte {_bad_byte(token)}") from error
    try:
        value = go_json.parse(raw.decode("latin-1"))
    except go_json.JSONError as error:
        raise _invalid(str(error)) from error
    if not isinstance(value, dict) or value.get("v") != "meta.k8s.io/v1":
        raise _invalid("server does not recognize this encoded version")
    rv, start = value.get("rv"), value.get("start")
    if not isinstance(rv, int) or not isinstance(start, str) or not start:
        raise _invalid("encoded start key empty (version meta.k8s.io/v1)")
    return Continue(rv, start)


def _invalid(text: str) -> Exception:
    return bad_request(f"invalid continue token: continue key is not valid: {text}")


def _bad_byte(token: str) -> int:
    good = "-_"
    for index, char in enumerate(token):
        if not (char.isascii() and (char.isalnum() or char in good)):
            return index
    return len(token) // 4 * 4
