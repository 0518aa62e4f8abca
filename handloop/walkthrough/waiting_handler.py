"""A handler that waits at a gate, so that its listener's buffer grows."""

from __future__ import annotations

import threading
from typing import Self

from handloop.controller.foo.types import Foo
from handloop.informers.keys import DeletedFinalStateUnknown


class WaitingHandler:
    """
    Implements handloop.informers.handlers.ResourceEventHandler: each call waits until open().

    The end of a `with` opens it, too, so that an informer can end. Threads: the listener's waits, any opens.
    """

    def __init__(self) -> None:
        self._gate = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.open()

    def open(self) -> None:
        """Let every call return, now and later."""
        self._gate.set()

    def on_add(self, obj: Foo, is_in_initial_list: bool) -> None:  # noqa: ARG002, FBT001 - the Protocol's signature
        """Wait."""
        self._gate.wait()

    def on_update(self, old: Foo, new: Foo) -> None:  # noqa: ARG002 - the Protocol's signature
        """Wait."""
        self._gate.wait()

    def on_delete(self, obj: Foo | DeletedFinalStateUnknown[Foo]) -> None:  # noqa: ARG002 - the Protocol's signature
        """Wait."""
        self._gate.wait()
