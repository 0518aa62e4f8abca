from __future__ import annotations

import socket

import pytest

from handloop_sandbox.bind_address import BindAddress


def test_loopback_is_the_default() -> None:
    """Nobody else gets there, and only its names are served."""
    address = BindAddress()
    assert (address.text, address.host, address.is_loopback) == ("127.0.0.1", "127.0.0.1", True)
    assert set(address.served_names() or ()) == {"127.0.0.1", "localhost", "[::1]"}
    assert address.certified_names() == ["127.0.0.1", "localhost", "::1"]


def test_an_address_that_others_reach() -> None:
    """Any name is served, and the certificate is for the address and the machine's name, too."""
    address = BindAddress("192.0.2.1")
    assert not address.is_loopback
    assert address.served_names() is None
    assert address.certified_names()[-2:] == ["192.0.2.1", socket.gethostname()]


def test_every_interface_is_reached_by_loopback() -> None:
    """The URL for this machine is not 0.0.0.0."""
    address = BindAddress("0.0.0.0")  # noqa: S104 - the tested address
    assert (address.host, address.is_loopback) == ("127.0.0.1", False)
    assert "0.0.0.0" not in address.certified_names()  # noqa: S104 - the same


def test_addresses_of_version_6_have_brackets() -> None:
    """As URLs want them."""
    assert BindAddress("::1").host == "[::1]"
    assert BindAddress("::1").is_loopback
    assert BindAddress("127.0.0.2").served_names() == ("127.0.0.1", "localhost", "[::1]", "127.0.0.2")


@pytest.mark.parametrize("text", ["", "localhost", "127.0.0.1:80", "300.0.0.1"])
def test_names_and_nonsense_are_no_addresses(text: str) -> None:
    """A name could mean several addresses."""
    with pytest.raises(ValueError, match="does not appear to be"):
        BindAddress(text)
