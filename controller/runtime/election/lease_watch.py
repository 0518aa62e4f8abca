"""
Watch one Lease, so that a waiting candidate sends no requests while another process renews the Lease.

    elector: a failed try --> LeaseWatch --> sleep until the lease, as last seen, is free --> try
    lease-watch:  open --> read, keep the newest --> open again when the stream has ended without an error

A watch only determines when a candidate tries to acquire the lease, and every attempt reads the lease first.
A late or outdated event can therefore make a candidate wait longer, but never makes it act too early.
Decision: A standby watches the lease.
"""

from __future__ import annotations

import threading
from contextlib import closing
from typing import Final

from handloop.apis.coordination_v1 import Lease
from handloop.client.decoding.watch_stream import Bookmark, EventType, WatchEvent, WatchStream
from handloop.client.errors import ConnectionBroken
from handloop.controller.runtime.election.lease_lock import LeaseLock
from handloop.seams.locks import new_lock
from handloop.seams.seams import Seams
from handloop.seams.threads import as_error

_WATCH_SECONDS: Final = 300.0


class LeaseWatch:
    """
    The watch events of a Lease since it was last read.

    Fields: came, an event that is set when a Lease can be taken, and when the watch ends; is_open, whether
    more watch events can arrive; has_ended, whether the thread has ended; error, why the watch ended by
    itself, or None.
    State, under _lock: _newest, the Lease in the latest watch event, or None once taken; _stream, the open
    stream; _is_closed.
    Threads: `lease-watch` reads the stream, and is the only writer; the elector's thread creates the watch,
    takes Leases from it, and closes it.
    """

    def __init__(self, lease: LeaseLock, seams: Seams) -> None:
        """Start the watch. Raises: RuntimeError if a thread cannot be started."""
        self._lease = lease
        self._version = lease.version
        self._random = seams.random
        self._lock = new_lock("LeaseWatch._lock", 95)
        self._newest: Lease | None = None
        self._stream: WatchStream[Lease] | None = None
        self._is_closed = False
        self.came = threading.Event()
        self.is_open = self.has_ended = False
        self.error: Exception | None = None
        seams.spawn("lease-watch", self._run)

    def take(self) -> Lease | None:
        """Return the Lease in the latest watch event, or None if it was already taken."""
        self.came.clear()
        with self._lock:
            newest, self._newest = self._newest, None
        return newest

    @property
    def is_opening(self) -> bool:
        """Whether the server has not answered yet."""
        return not (self.is_open or self.has_ended)

    def close(self) -> None:
        """End it. Does not wait."""
        with self._lock:
            self._is_closed, stream = True, self._stream
        if stream is not None:
            stream.close()

    # on the thread `lease-watch`

    def _run(self) -> None:
        try:
            while self._version:
                self._version = self._follow(self._version)
        except BaseException as error:  # noqa: BLE001 - whatever happened, the elector has to be told
            with self._lock:
                self.error = None if self._is_closed else as_error(error)
        finally:
            self.is_open, self.has_ended = False, True
            self.came.set()

    def _follow(self, version: str) -> str:
        """Read one stream to its end. Returns: the version to continue from, or "" after close."""
        with closing(self._lease.watch(version, int(_WATCH_SECONDS * (1 + self._random())))) as stream:
            with self._lock:
                self._stream = stream
                if self._is_closed:
                    return ""
            self.is_open, version = True, ""
            while events := stream.read():
                for event in events:
                    version = self._take_in(event)
        if not version:
            raise ConnectionBroken("the watch brought nothing")
        return version

    def _take_in(self, event: WatchEvent[Lease]) -> str:
        """Store an event. Returns: its version. Raises: server errors; ConnectionBroken after a deletion."""
        found = event.object
        if isinstance(found, Bookmark):
            return found.resource_version
        if not isinstance(found, Lease) or event.type is EventType.DELETED:
            raise found if isinstance(found, Exception) else ConnectionBroken(f"{event.type} event")
        with self._lock:
            self._newest = found
        self.came.set()
        return found.metadata.resource_version
