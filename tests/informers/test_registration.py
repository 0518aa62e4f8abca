"""The handle of a handler."""

from __future__ import annotations

from typing import Any

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.informers.processor import Registration


class _Listener:
    """A listener that has synced, or not."""

    def __init__(self, *, synced: bool) -> None:
        self._synced = synced

    def has_synced(self) -> bool:
        return self._synced


@pytest.mark.parametrize("synced", [False, True])
def test_a_registration_has_synced_when_its_listener_has(synced: bool) -> None:
    """Not when the store is filled, but when the handler has returned from every initial add."""
    listener: Any = _Listener(synced=synced)
    registration: Registration[Deployment] = Registration(listener)
    assert registration.has_synced() is synced
    assert registration.listener is listener
