"""Merges the messages of several sources, such as a stream, a keyboard, and answers to a user's actions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from queue import SimpleQueue

from handloop.seams.threads import spawn_thread
from handloop_learn.top.stream import Message


class MessageQueue:
    """
    Yields the messages of its sources, in order of arrival.

    Threads: each source is read on its own daemon thread, which is never joined. Only one thread can iterate.
    """

    def __init__(self) -> None:
        self._arrived: SimpleQueue[Message | BaseException] = SimpleQueue()

    def follow(self, name: str, source: Iterable[Message]) -> None:
        """Start to read a source on a thread with this name. The iteration re-raises the source's errors."""

        def read() -> None:
            try:
                for message in source:
                    self._arrived.put(message)
            except BaseException as error:  # noqa: BLE001 - raised again, on the thread that iterates
                self._arrived.put(error)

        spawn_thread(name, read)

    def __iter__(self) -> Iterator[Message]:
        """Yield messages endlessly. Blocks: until the next message arrives."""
        while True:
            arrived = self._arrived.get()
            if isinstance(arrived, BaseException):
                raise arrived
            yield arrived
