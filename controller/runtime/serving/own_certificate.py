"""
Create a certificate for a server that was not given one. It is self-signed, and renewed before it expires.

Clients cannot verify it, but it still protects their tokens from passive listeners.

Follows: controller-runtime pkg/metrics/server, differs: there, the certificate is not renewed.
"""

from __future__ import annotations

import ssl
from datetime import timedelta
from typing import Final

from handloop.controller.runtime.serving.key_pairs import new_pair
from handloop.seams.clock import Clock
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger

log = get_logger("metrics")

LIFETIME: Final = timedelta(days=365)
_SKEW: Final = timedelta(hours=1)
"""How much longer the certificate is valid at each end, because a client's clock may be off."""
_RENEWED: Final = LIFETIME * 2 / 3
_LOOPBACK: Final = ("127.0.0.1", "::1")


class OwnCertificate:
    """
    A self-signed certificate, renewed after two thirds of its lifetime.

    State, under _lock: _context; _made_at, in seconds since the Unix epoch.
    Threads: any thread can call context.
    """

    def __init__(self, clock: Clock) -> None:
        """
        Create the first certificate.

        Raises: OSError if a temporary file cannot be written; ImportError without the cryptography package.
        Blocks: for a tenth of a second.
        """
        self._clock = clock
        self._lock = new_lock("OwnCertificate._lock", 94)
        self._made_at = clock.time()
        self._context = _self_signed(self._made_at)

    def context(self) -> ssl.SSLContext:
        """Return the context for a new connection."""
        with self._lock:
            now = self._clock.time()
            # Also renew the certificate if the clock was ahead at startup and has since been set back.
            if not -_SKEW.total_seconds() < now - self._made_at < _RENEWED.total_seconds():
                try:
                    self._context, self._made_at = _self_signed(now), now
                except OSError as error:
                    log.error("Could not renew the certificate", err=str(error))  # noqa: TRY400 - no traceback
            return self._context


def _self_signed(now: float) -> ssl.SSLContext:
    return new_pair("metrics", now, LIFETIME, hosts=("localhost", *_LOOPBACK), skew=_SKEW).context()
