"""
A server's certificate, which is read again when its files are replaced.

Follows: controller-runtime pkg/certwatcher, differs: checks on each connection, not every ten seconds.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, Counter

from handloop.controller.runtime.serving.key_pairs import no_password
from handloop.controller.runtime.serving.listening import NoCertificateError
from handloop.seams.clock import Clock
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger

log = get_logger("metrics")

CERTIFICATE: Final = "tls.crt"
KEY: Final = "tls.key"
LOOK_SECONDS: Final = 1.0

_Signature = tuple[int, int, int, int]


class CertificateMetrics:
    """certwatcher_*, as controller-runtime counts."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.reads = Counter(
            "certwatcher_read_certificate_total", "Total number of certificate reads", registry=registry
        )
        self.errors = Counter(
            "certwatcher_read_certificate_errors_total",
            "Total number of certificate read errors",
            registry=registry,
        )


class CertificateWatcher:
    """
    A certificate `tls.crt` and its `tls.key` in a folder, such as a mounted Secret.

    If a new pair does not load, the error is counted and logged, and the previous pair stays in use.

    State, under _lock: _context, the TLS context with the pair; _signature, the result of _sign for the files
    that were last read; _looked_at, the time of the last check. Threads: any thread can call context.
    """

    def __init__(self, folder: Path, metrics: CertificateMetrics, clock: Clock) -> None:
        """
        Read the pair.

        Raises: OSError or ssl.SSLError if the pair does not load.
        """
        self._certificate, self._key = folder / CERTIFICATE, folder / KEY
        self._clock = clock
        self._metrics = metrics
        self._lock = new_lock("CertificateWatcher._lock", 94)
        self._looked_at = clock.now()
        self._signature = self._sign()
        self._context = self._load()

    def context(self) -> ssl.SSLContext:
        """Return the context for a new connection."""
        with self._lock:
            now = self._clock.now()
            if now - self._looked_at >= LOOK_SECONDS:
                self._looked_at = now
                self._refresh_locked()
            return self._context

    def _refresh_locked(self) -> None:
        try:
            signature = self._sign()
            if signature == self._signature:
                return
            # Set the signature first, so that a broken pair is not read again for every connection.
            self._signature = signature or self._signature
            self._context = self._load()
        except OSError as error:  # ssl.SSLError is one
            self._metrics.errors.inc()
            log.error("Could not read the certificate", path=str(self._certificate), err=str(error))  # noqa: TRY400 - no traceback
        else:
            log.info("Updated current TLS certificate", path=str(self._certificate))

    def _sign(self) -> _Signature | None:
        """Return a signature that changes when either file is replaced, or None if a file is missing."""
        try:
            first, second = self._certificate.stat(), self._key.stat()
        except OSError:
            return None
        return first.st_mtime_ns, first.st_ino, second.st_mtime_ns, second.st_ino

    def _load(self) -> ssl.SSLContext:
        self._metrics.reads.inc()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self._certificate, self._key, password=no_password)
        return context


def certificate_in(
    folder: str, metrics: CertificateMetrics, clock: Clock, *, address: str, purpose: str
) -> Callable[[], ssl.SSLContext]:
    """
    Return a function that returns the TLS context for a new connection, with the certificate in a folder.

    Raises: NoCertificateError if the certificate does not load.
    """
    path = Path(folder)
    try:
        return CertificateWatcher(path, metrics, clock).context
    except OSError as error:  # ssl.SSLError is one
        reason = error.strerror or str(error)
        pair = f"{path / CERTIFICATE} and {KEY}"
        raise NoCertificateError(address, purpose, f"{pair}: {reason.lower()}") from error
