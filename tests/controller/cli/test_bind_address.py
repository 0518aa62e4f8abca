"""Addresses to listen on, in the forms Go programs take."""

from __future__ import annotations

import pytest

from handloop.controller.cli.bind_address import BindAddress, parse_bind_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":8080", BindAddress("", 8080)),
        ("127.0.0.1:0", BindAddress("127.0.0.1", 0)),
        ("[::1]:9", BindAddress("::1", 9)),
        ("0", None),
    ],
)
def test_bind_addresses_are_read(text: str, address: BindAddress | None) -> None:
    """host:port in Go's forms; 0 means off."""
    assert parse_bind_address(text) == address
    assert address is None or str(address) == text


@pytest.mark.parametrize("text", ["", "8080", "host", ":x", ":70000"])
def test_what_is_no_address_is_refused(text: str) -> None:
    """Without a port there is nothing to listen on."""
    with pytest.raises(ValueError, match="is not an address"):
        parse_bind_address(text)
