"""
Decide which authorities the API server trusts, and which one signs the webhook's certificate.

A new authority is trusted before it signs. An old one stays trusted until the certificates that it signed
have expired. Replicas may therefore serve either the old or the new certificate.

    new authority --(in every definition, grace)--> signs the next certificate --(its lifetime)--> old goes

Follows: cert-manager's ca-injector and the rotator of open-policy-agent/cert-controller, differs: they trust
only one authority at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, NamedTuple

from handloop.controller.runtime.serving.key_pairs import (
    SKEW,
    Certificate,
    KeyPair,
    certificates_in,
    new_pair,
)

_RENEWED: Final = 2 / 3
"""The fraction of a lifetime after which a successor is created."""
NO_PAIR: Final = KeyPair(b"", b"")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetimes:
    """How long certificates are valid. grace is how long API servers may take to trust a new authority."""

    authority: timedelta = timedelta(days=90)
    certificate: timedelta = timedelta(days=1)
    grace: timedelta = timedelta(minutes=1)


class Material(NamedTuple):
    """
    The content of the Secret.

    Fields: authorities, the certificates to trust, as PEM, newest first; key, the key of the newest
    authority; pair, the certificate and key that the webhook serves with, or NO_PAIR before they exist.
    """

    authorities: bytes = b""
    key: bytes = b""
    pair: KeyPair = NO_PAIR


class Step(NamedTuple):
    """What the Secret must contain, and after how many seconds to check again."""

    material: Material
    wait_seconds: float


@dataclass(frozen=True, slots=True)
class Trust:
    """Decides which certificates are valid and trusted. name is the authorities' common name."""

    name: str
    hosts: Sequence[str]
    lifetimes: Lifetimes = field(default_factory=Lifetimes)

    def step(self, given: Material, trusted: Sequence[bytes], now: float) -> Step:
        """
        Return the content that the Secret must have next.

        Args: given is the Secret's content, which may be empty or damaged by a user; trusted contains the
        authorities that each definition trusts; now is in seconds since the Unix epoch.
        Raises: ImportError if the cryptography package is missing.
        """
        key, ours = given.key, self._ours([given.authorities], now)
        # The key's authority comes first, because a clock that was ahead may have dated an older one later.
        ours.sort(key=lambda each: not _signs(key, each))
        if not ours or not _signs(given.key, ours[0]) or not self._is_fresh(ours[0], now):
            made = new_pair(self.name, now, self.lifetimes.authority)
            key, ours = made.key, [*certificates_in(made.certificate), *ours]
        # If the Secret was lost, replicas still serve certificates that the lost authority signed. Trust it,
        # too.
        known = [*ours, *(each for each in self._ours(trusted, now) if each not in ours)]
        newest = known[0]
        pair, seconds = self._pair(given.pair, KeyPair(_pem(newest), key), known, trusted, now)
        kept = [newest, *(each for each in known[1:] if self._may_be_in_use(each, newest, now))]
        ends = (_created(newest) + self._usage() - now) if kept[1:] else seconds
        bundle = b"".join(_pem(each) for each in kept)
        wait = max(1.0, min(seconds, ends, self._seconds_fresh(newest, now)))
        return Step(Material(bundle, key, pair), wait)

    def _pair(
        self,
        given: KeyPair,
        newest: KeyPair,
        known: Sequence[Certificate],
        trusted: Sequence[bytes],
        now: float,
    ) -> tuple[KeyPair, float]:
        """Return the pair that the webhook must serve with, and for how many seconds."""
        authority = known[0]
        is_valid = any(self._is_pair_of(given, each, now) for each in known)
        lasts = _created(certificates_in(given.certificate)[0]) if is_valid else 0.0
        lasts += self.lifetimes.certificate.total_seconds() * _RENEWED - now
        if is_valid and lasts > 0 and self._is_pair_of(given, authority, now):
            return given, lasts
        waits = _created(authority) + self.lifetimes.grace.total_seconds() - now if is_valid else 0.0
        is_trusted = all(authority in certificates_in(bundle) for bundle in trusted)
        if not is_trusted or waits > 0:
            return (given if is_valid else NO_PAIR), max(waits, 1.0)
        lifetime = self.lifetimes.certificate
        made = new_pair("webhook", now, lifetime, hosts=tuple(self.hosts), issuer=newest)
        return made, lifetime.total_seconds() * _RENEWED

    def _ours(self, bundles: Sequence[bytes], now: float) -> list[Certificate]:
        """Return the unexpired authorities that this program created, newest first, without duplicates."""
        found = [each for bundle in bundles for each in certificates_in(bundle) if self._is_ours(each, now)]
        return sorted(dict.fromkeys(found), key=_created, reverse=True)

    def _is_ours(self, certificate: Certificate, now: float) -> bool:
        return certificate.subject.rfc4514_string() == f"CN={self.name}" and now < _ends(certificate)

    def _is_fresh(self, certificate: Certificate, now: float) -> bool:
        # An authority is also not fresh if its date is in the future, because a clock has been set back.
        return self._seconds_fresh(certificate, now) > 0 and not _is_ahead(certificate, now)

    def _seconds_fresh(self, certificate: Certificate, now: float) -> float:
        return _created(certificate) + self.lifetimes.authority.total_seconds() * _RENEWED - now

    def _is_pair_of(self, pair: KeyPair, authority: Certificate, now: float) -> bool:
        """Return whether an authority signed a pair, and the pair is for the webhook's hosts, and for now."""
        found = certificates_in(pair.certificate)
        if not found or not _signs(pair.key, found[0]) or set(_hosts(found[0])) != set(self.hosts):
            return False
        if _is_ahead(found[0], now):
            return False  # clients would refuse it
        try:
            found[0].verify_directly_issued_by(authority)
        except Exception:  # noqa: BLE001 - the type of error depends on the type of key
            return False
        return True

    def _may_be_in_use(self, authority: Certificate, newest: Certificate, now: float) -> bool:
        """Return whether a certificate that an authority signed may still be in use."""
        return now < min(_ends(authority), _created(newest) + self._usage())

    def _usage(self) -> float:
        return (self.lifetimes.grace + self.lifetimes.certificate).total_seconds()


def _created(certificate: Certificate) -> float:
    return float((certificate.not_valid_before_utc + SKEW).timestamp())


def _is_ahead(certificate: Certificate, now: float) -> bool:
    """Return whether a certificate is not valid yet, because the clock that dated it was ahead."""
    return now <= _created(certificate) - SKEW.total_seconds()


def _ends(certificate: Certificate) -> float:
    return float(certificate.not_valid_after_utc.timestamp())


def _hosts(certificate: Certificate) -> Iterator[str]:
    from cryptography import x509  # noqa: PLC0415 - an extra

    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return
    for name in names:
        yield str(name.value)


def _pem(certificate: Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding  # noqa: PLC0415 - an extra

    return bytes(certificate.public_bytes(Encoding.PEM))


def _signs(key: bytes, certificate: Certificate) -> bool:
    """Return whether a private key belongs to a certificate."""
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - an extra

    try:
        return bool(serialization.load_pem_private_key(key, None).public_key() == certificate.public_key())
    except (ValueError, TypeError):
        return False
