"""Where a server listens, as people write it."""

from __future__ import annotations

import pytest

from handloop.controller.runtime.serving.bind_address import BindAddress, parse_bind_address


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


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("127.0.0.1:1", {"127.0.0.1", "localhost", "[::1]"}),
        ("localhost:1", {"127.0.0.1", "localhost", "[::1]"}),
        ("[::1]:1", {"127.0.0.1", "localhost", "[::1]", "::1"}),
        ("127.0.0.2:1", {"127.0.0.1", "localhost", "[::1]", "127.0.0.2"}),
        (":1", None),
        ("0.0.0.0:1", None),
        ("[::]:1", None),
        ("10.0.0.1:1", None),
        ("pod.example:1", None),
    ],
)
def test_on_loopback_the_names_are_known(text: str, names: set[str] | None) -> None:
    """Elsewhere the names by which others come here are unknown."""
    address = parse_bind_address(text)
    assert address is not None
    served = address.served_names()
    assert (served if served is None else set(served)) == names


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (":8080", ":8080 (all interfaces)"),
        ("0.0.0.0:1", "0.0.0.0:1 (all interfaces)"),
        ("[::]:1", "[::]:1 (all interfaces)"),
        ("127.0.0.1:8080", "127.0.0.1:8080"),
    ],
)
def test_the_banner_warns_when_others_can_reach_it(text: str, shown: str) -> None:
    """Go's :8080 does not show a newcomer that the network gets there, too."""
    address = parse_bind_address(text)
    assert address is not None
    assert address.shown == shown
