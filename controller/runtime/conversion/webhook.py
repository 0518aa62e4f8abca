"""
The conversion webhook, which runs on every replica. It starts to serve once it has a certificate.

The webhook does not wait for leadership. During shutdown, it runs until the reconciles have ended, because
they may still write objects that the API server must convert.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Final

from cachetools import TTLCache
from prometheus_client import CollectorRegistry

from handloop.apis.crd import CONVERT_PATH
from handloop.apis.meta import Kind
from handloop.client.errors import ClientError
from handloop.controller.runtime.conversion.review import ReviewError, converters_of, reviewed
from handloop.controller.runtime.conversion.trust import NO_PAIR
from handloop.controller.runtime.metrics.webhook_metrics import WebhookMetrics
from handloop.controller.runtime.serving.bind_address import BindAddress
from handloop.controller.runtime.serving.health import Check
from handloop.controller.runtime.serving.key_pairs import KeyPair
from handloop.controller.runtime.serving.page_server import TEXT, PageServer
from handloop.seams.clock import Clock
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger

log = get_logger("conversion")

JSON: Final = "application/json"
_UNTIL_THERE_SECONDS: Final = 0.5
_DRAIN_SECONDS: Final = 2.0
AGAIN_SECONDS: Final = 15.0
_TOLD_SECONDS: Final = 60.0
_MOST_TOLD: Final = 20
"""How many failures are remembered. The limit keeps a client that sends nonsense from filling the log."""
_OK, _BAD_REQUEST = 200, 400


class NoPairError(OSError):
    """There is no certificate yet."""


class ServedPair:
    """
    The webhook's certificate, read from the Secret. If the Secret is deleted or invalid, the last valid one
    is kept.

    State: _pair, the last valid pair; _context, under _lock, which is created from _pair; _trouble, the last
    error, which is logged once.
    Threads: the server's threads call context; only the webhook's thread calls refresh, and uses _pair and
    _trouble.
    """

    def __init__(self, read: Callable[[], KeyPair]) -> None:
        """Args: read returns the pair from the server, or NO_PAIR; it may raise ClientError."""
        self._read = read
        self._lock = new_lock("ServedPair._lock", 94)
        self._pair = NO_PAIR
        self._context: ssl.SSLContext | None = None
        self._trouble = ""

    def refresh(self) -> bool:
        """Read the Secret again. Returns: whether a pair is available. Blocks: for one request."""
        try:
            pair = self._read()
            if pair not in (NO_PAIR, self._pair):
                context = pair.context()
                with self._lock:
                    self._context = context
                self._pair = pair
                log.info("The webhook has a new certificate")
            self._trouble = ""
        except (ClientError, OSError) as error:  # ssl.SSLError is one
            if self._trouble != str(error):
                log.warning("Could not read the webhook's certificate", err=str(error))
            self._trouble = str(error)
        return self.check() is None

    def context(self) -> ssl.SSLContext:
        """Return the context for a new connection. Raises: NoPairError if no certificate is available yet."""
        with self._lock:
            if self._context is None:
                raise NoPairError("the webhook has no certificate yet")
            return self._context

    def check(self) -> str | None:
        """A health check: there is a certificate."""
        with self._lock:
            return "no certificate yet" if self._context is None else None


class Webhook:
    """
    The server of the conversion webhook. Implements handloop.controller.runtime.life.runnable.Runnable.

    State, under _lock: _told, the failures that were logged in the last minute.
    Threads: `run-conversion-webhook` refreshes the certificate, `conversion-server` serves, with one more
    thread per connection.
    """

    name = "conversion-webhook"
    needs_leader_election = False

    def __init__(
        self,
        kinds: Sequence[type[Kind]],
        address: BindAddress,
        tls: Callable[[], ssl.SSLContext],
        *,
        refresh: Callable[[], bool],
        check: Check,
        registry: CollectorRegistry,
        clock: Clock,
        again_seconds: float = AGAIN_SECONDS,
    ) -> None:
        """
        Bind the port.

        Args: refresh is called every again_seconds. It reads a new certificate, and returns whether one is
        available. check is a readiness check, which is added to /readyz.
        Raises: the same errors as PageServer.
        """
        self.ready_check = check
        self._again_seconds = again_seconds
        self._refresh = refresh
        self._clock = clock
        self._converters = converters_of(kinds)
        self._metrics = WebhookMetrics(registry)
        self._lock = new_lock("Webhook._lock", 94)
        self._told: TTLCache[str, None] = TTLCache(_MOST_TOLD, _TOLD_SECONDS, timer=clock.now)
        self._server = PageServer(
            address.host, address.port, {}, purpose="conversion", tls=tls, posts={CONVERT_PATH: self._convert}
        )

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._server.port

    def run(self, stop: threading.Event) -> None:
        """Serve until stop is set."""
        self._server.start()
        kinds = [converter.kind.__name__ for converter in self._converters.values()]
        log.info("Serving conversions", port=self._server.port, kinds=kinds)
        try:
            while True:
                seconds = self._again_seconds if self._refresh() else _UNTIL_THERE_SECONDS
                if self._clock.sleep(seconds, stop):
                    break
        finally:
            # An API server keeps its connections open, and a Service still sends requests here for a moment.
            self._server.drain(_DRAIN_SECONDS)
            self._server.stop()

    def _is_news(self, text: str) -> bool:
        """
        Return whether to log a failure.

        Returns: True if the failure was not logged within the last minute, and only few others were.
        """
        with self._lock:
            is_news = text not in self._told and len(self._told) < _MOST_TOLD
            if is_news:
                self._told[text] = None
            return is_news

    def _convert(self, body: bytes) -> tuple[int, str, bytes]:
        began = perf_counter()
        try:
            answer = _OK, JSON, reviewed(body, self._converters, self._is_news)
        except ReviewError as error:
            answer = _BAD_REQUEST, TEXT, f"{error}\n".encode(errors="replace")
        self._metrics.answered(CONVERT_PATH, answer[0], perf_counter() - began)
        return answer
