"""Plain values as a Secret stores them."""

from __future__ import annotations

from handloop.apis.secret_data import secret_data


def test_values_are_in_base64() -> None:
    """Texts in UTF-8, bytes as they are."""
    assert secret_data({"password": "pä", "key": b"\xff"}) == {"password": "cMOk", "key": "/w=="}
