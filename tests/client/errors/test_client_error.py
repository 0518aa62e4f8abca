from __future__ import annotations

from handloop.client import errors
from handloop.client.errors import ClientError


def test_every_error_has_the_same_root() -> None:
    """Whoever backs off on anything from the client catches one class."""
    found = [
        value
        for value in vars(errors).values()
        if isinstance(value, type)
        and issubclass(value, Exception)
        and value.__module__.startswith("handloop.client.errors.")
    ]
    assert len(found) > 25
    assert all(issubclass(value, ClientError) for value in found)
