"""Failures to listen."""

from __future__ import annotations

import pytest

from handloop.controller.runtime.serving.listening import PortInUseError, listen_error


@pytest.mark.parametrize(
    ("error", "host", "address", "reason"),
    [
        (OSError(98, "in use"), "", ":80", "address already in use"),
        (OSError(13, "denied"), "::1", "[::1]:80", "permission denied"),
        (OSError(-2, "Name or service not known"), "nowhere", "nowhere:80", "name or service not known"),
        (OSError("words"), "h", "h:80", "words"),
    ],
)
def test_failures_to_listen_are_put_in_words(error: OSError, host: str, address: str, reason: str) -> None:
    """An address as one writes it, and the system's own words in short."""
    found = listen_error(error, host, 80, "metrics")
    assert (found.address, found.reason) == (address, reason)
    assert isinstance(found, PortInUseError) is (error.errno == 98)
