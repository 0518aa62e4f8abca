"""
TLS contexts that follow their files: the CA, client certificate and key are reread when they change.

Verification is always on unless the configuration sets insecure-skip-tls-verify. No error turns it off.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Final, NamedTuple

from handloop.client.auth.bounded_file import read_file
from handloop.client.errors import ConfigError, ConfigProblem
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger

log = get_logger("client")

_LOCK_RANK: Final = 96
_BEGIN_CERTIFICATE: Final = b"-----BEGIN CERTIFICATE-----"


class KeyPair(NamedTuple):
    """A client certificate and its key, as PEM or as files that contain PEM. If both are given, PEM wins."""

    certificate: bytes = b""
    key: bytes = b""
    certificate_file: str = ""
    key_file: str = ""

    def __bool__(self) -> bool:
        return bool(self.certificate or self.certificate_file)

    def __repr__(self) -> str:
        return f"KeyPair(file={self.certificate_file!r})"


class TLSOptions(NamedTuple):
    """The parts of a TLS configuration. A ca of "" or b"" means the system's trust store."""

    ca: bytes = b""
    ca_file: str = ""
    key_pair: KeyPair = KeyPair()
    insecure_skip_verify: bool = False

    def __repr__(self) -> str:
        ca = self.ca_file or ("given" if self.ca else "system")
        return f"TLSOptions(ca={ca!r}, insecure={self.insecure_skip_verify}, key_pair={self.key_pair!r})"

    def files(self) -> tuple[str, ...]:
        """Return the files that are read to build a context."""
        pair = self.key_pair
        candidates = (
            "" if self.ca else self.ca_file,
            "" if pair.certificate else pair.certificate_file,
            "" if pair.key else pair.key_file,
        )
        return tuple(path for path in candidates if path)


class TLSContexts:
    """
    Provides the TLS context for each new connection.

    State: the last good context, and the versions of the files from which it was built. generation increases
    with each new context, so that pooled connections with an older context can be recognized.
    Threads: usable from any thread. Files are read without the lock.
    """

    def __init__(self, options: TLSOptions) -> None:
        self._lock = new_lock("TLSContexts._lock", _LOCK_RANK)
        self._options = options
        self._versions = _versions(options)
        self._context = build_context(options)
        self._generation = 1

    def current(self, key_pair: KeyPair | None = None) -> tuple[ssl.SSLContext, int]:
        """
        Return the context and its generation.

        Args: key_pair replaces the configured one, for example with an exec plugin's.
        Raises: ConfigError if a new key pair does not load. If changed files do not load, for example in the
        middle of a rotation, the last good context stays in use.
        """
        with self._lock:
            used, built_from = self._options, self._versions
            last_good = self._context, self._generation
        options = used if key_pair is None else used._replace(key_pair=key_pair)
        versions = _versions(options)
        if options == used and versions == built_from:
            return last_good
        try:
            context = build_context(options)
        except ConfigError as error:
            if options != used:
                raise
            log.warning("Rotated certificate files are not usable yet", err=str(error))
            return last_good
        with self._lock:
            self._options, self._versions, self._context = options, versions, context
            self._generation += 1
            return context, self._generation


def _versions(options: TLSOptions) -> tuple[tuple[int, int, int] | None, ...]:
    return tuple(_version(path) for path in options.files())


def _version(path: str) -> tuple[int, int, int] | None:
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def build_context(options: TLSOptions) -> ssl.SSLContext:
    """
    Return a client context for these options.

    Raises: ConfigError that names the file or field that does not load.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if options.insecure_skip_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        _load_ca(context, options)
    if options.key_pair:
        _load_key_pair(context, options.key_pair)
    return context


def _load_ca(context: ssl.SSLContext, options: TLSOptions) -> None:
    if not options.ca and not options.ca_file:
        context.load_default_certs()
        return
    where = "certificate-authority-data" if options.ca else options.ca_file
    try:
        # A bundle can have names in any encoding between its certificates. As in Go, they do not matter.
        text = (options.ca or read_file(options.ca_file)).decode("ascii", "backslashreplace")
        context.load_verify_locations(cadata=text)
        # As in Go, every given certificate is trusted, even one that another authority has signed.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    except (OSError, ValueError) as error:
        raise _certificate_error("the cluster's CA certificate cannot be loaded", where, error) from error


def _load_key_pair(context: ssl.SSLContext, pair: KeyPair) -> None:
    """
    Load a certificate and its key. A certificate without a chain is then sent twice in each handshake.

    If it were sent only once, OpenSSL would add the CA's certificates from the trust store. kube-apiserver
    would then verify twice as many signatures per request, which takes 0.16 ms, a tenth of its CPU time.
    Servers in Go and Java and those with OpenSSL accept the repetition. A chain is sent unchanged.
    """
    # Import this here, because it loads five archive formats, and few configurations have a key pair.
    import tempfile  # noqa: PLC0415

    where = "client-certificate-data" if pair.certificate else pair.certificate_file
    try:
        # The library loads key pairs only from files. The folder is private and is deleted on return.
        with tempfile.TemporaryDirectory(prefix="handloop-") as folder:
            certificate = pair.certificate or _read(pair.certificate_file)
            if certificate.count(_BEGIN_CERTIFICATE) == 1:
                certificate += b"\n" + certificate
            certificate_file = _written(certificate, Path(folder, "tls.crt"))
            key_file = pair.key_file
            if pair.key:
                key_file = _written(pair.key, Path(folder, "tls.key"))
            else:
                _read(key_file)  # ssl itself would read any file, even an endless one
            context.load_cert_chain(certificate_file, key_file, password=_no_password)
    except (OSError, ValueError) as error:
        raise _certificate_error("the client certificate does not load", where, error) from error


def _read(path: str) -> bytes:
    try:
        return read_file(path)
    except OSError as error:
        raise _certificate_error("the client certificate does not load", path, error) from error


def _written(pem: bytes, path: Path) -> str:
    path.touch(mode=0o600)
    path.write_bytes(pem)
    return str(path)


def _no_password() -> str:
    # Without this, OpenSSL would ask for an encrypted key's password on the terminal.
    raise ValueError("the key is encrypted with a password")


def _certificate_error(what: str, where: str, error: Exception) -> ConfigError:
    cause = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    if isinstance(error, ssl.SSLError):
        cause = _ssl_words(error)
    return ConfigError(
        ConfigProblem.CERTIFICATE,
        f"{what}: {where}",
        cause=cause or type(error).__name__,
        fix="obtain the kubeconfig or the file again from the source of your cluster's credentials",
        path=where if "/" in where else "",
    )


def _ssl_words(error: ssl.SSLError) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return "certificate and key do not match"
    return f"not PEM ({(error.reason or 'unreadable').replace('_', ' ').lower()})"
