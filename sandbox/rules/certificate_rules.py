"""
CertificateSigningRequests: what they may look like, and what may change of them.

The request must hold the parts of a PKCS#10 request. Its signature and its subject are not looked at.
Follows: kubernetes pkg/apis/certificates/validation, pkg/apis/core/validation/names.go.
"""

from __future__ import annotations

import base64
import ssl
from collections.abc import Iterator
from typing import Final

from handloop.sandbox.wire import names
from handloop.sandbox.wire.causes import (
    duplicate,
    forbidden_field,
    invalid_value,
    not_supported,
    quoted,
    required,
    too_long,
)
from handloop.sandbox.wire.field_rules import Object, all_invalid, entries, one_of, part
from handloop.sandbox.wire.status import Cause

APPROVALS: Final = ("Approved", "Denied")
_LASTING: Final = (*APPROVALS, "Failed")
_ANY_STATUS: Final = ("False", "True", "Unknown")
_LEAST_SECONDS: Final = 600
_MAX_SIGNER_NAME: Final = 2 * names.MAX_SUBDOMAIN + names.MAX_LABEL + 2
_CONDITIONS: Final = "status.conditions"
_USAGES: Final = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)
_BEGIN: Final = b"-----BEGIN "
_DASHES: Final = b"-----"
_INTEGER, _BIT_STRING, _SEQUENCE, _ATTRIBUTES = 0x02, 0x03, 0x30, 0xA0
_LONG_LENGTH: Final = 0x80


def signing_request(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """A CertificateSigningRequest; its spec is that of old, if there is one."""
    spec = part(new, "spec")
    causes = _request(spec) + _usages(spec) + _signer_name(spec.get("signerName", ""))
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _LEAST_SECONDS:
        text = "may not specify a duration less than 600 seconds (10 minutes)"
        causes.append(invalid_value("spec.expirationSeconds", seconds, text))
    causes += _conditions(new)
    return causes if old is None else causes + _changes(new, old, subresource)


def _request(spec: Object) -> list[Cause]:
    given = spec.get("request") or None
    kind, content = next(_pem_blocks(base64.b64decode(given or "")), (b"", b""))
    if kind != b"CERTIFICATE REQUEST":
        return [invalid_value("spec.request", given, "PEM block type must be CERTIFICATE REQUEST")]
    if not _is_certificate_request(content):
        return [invalid_value("spec.request", given, "asn1: structure error")]
    return []


def _usages(spec: Object) -> list[Cause]:
    usages = entries(spec, "usages")
    if not usages:
        return [required("spec.usages")]
    causes = []
    for index, usage in enumerate(usages):
        if usage not in _USAGES:
            causes.append(not_supported(f"spec.usages[{index}]", usage, _USAGES))
        if usage in usages[:index]:
            causes.append(duplicate(f"spec.usages[{index}]", usage))
    return causes


def _signer_name(name: str) -> list[Cause]:
    path = "spec.signerName"
    if not name:
        return [required(path)]
    if name == "kubernetes.io/legacy-unknown":
        return [invalid_value(path, name, "the legacy signerName is not allowed via this API version")]
    if name.count("/") != 1:
        text = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [invalid_value(path, name, text)]
    domain, _, rest = name.partition("/")
    causes = [too_long(path, names.MAX_SUBDOMAIN)] if len(domain) > names.MAX_SUBDOMAIN else []
    for label in domain.split("."):
        if problems := names.dns_1123_label(label):
            causes += all_invalid(path, domain, _about(label, problems))
            break
    if "." not in domain:
        text = "should be a domain with at least two segments separated by dots"
        causes.append(invalid_value(path, domain, text))
    for label in rest.split("."):
        if problems := names.dns_1123_subdomain(label):
            causes += all_invalid(path, rest, _about(label, problems))
            break
    return causes if len(name) <= _MAX_SIGNER_NAME else [*causes, too_long(path, _MAX_SIGNER_NAME)]


def _about(label: str, problems: list[str]) -> list[str]:
    return [f"validating label {quoted(label)}: {problem}" for problem in problems]


def _conditions(obj: Object) -> list[Cause]:
    causes: list[Cause] = []
    seen: set[str] = set()
    for index, condition in enumerate(_conditions_of(obj)):
        path, kind = f"{_CONDITIONS}[{index}]", condition.get("type", "")
        if not kind:
            causes.append(required(f"{path}.type"))
        allowed = ("True",) if kind in _LASTING else _ANY_STATUS
        causes += one_of(f"{path}.status", condition.get("status", ""), allowed)
        if kind in APPROVALS and seen & {*APPROVALS} - {kind}:
            text = "Approved and Denied conditions are mutually exclusive"
            causes.append(invalid_value(_CONDITIONS, kind, text))
        if kind in seen:
            causes.append(duplicate(f"{path}.type", kind))
        seen.add(kind)
    return causes


def _conditions_of(obj: Object) -> list[Object]:
    return list(entries(part(obj, "status"), "conditions"))


def _changes(new: Object, old: Object, subresource: str) -> list[Cause]:
    """Conditions that went or came, and a certificate that is no longer the same."""
    after, before = ({entry.get("type", "") for entry in _conditions_of(obj)} for obj in (new, old))
    causes = [
        forbidden_field(_CONDITIONS, f"updates may not remove a condition of type {quoted(kind)}")
        for kind in _LASTING
        if kind in before - after
    ]
    causes += [
        forbidden_field(_CONDITIONS, f"updates may not add a condition of type {quoted(kind)}")
        for kind in APPROVALS
        if kind in after - before and subresource != "approval"
    ]
    certificate, earlier = (part(obj, "status").get("certificate") or "" for obj in (new, old))
    if certificate == earlier:
        return causes
    if earlier:
        text = "updates may not modify existing certificate content"
        causes.append(forbidden_field("status.certificate", text))
    if problem := _certificate_problem(base64.b64decode(certificate)):
        causes.append(invalid_value("status.certificate", "<certificate data>", problem))
    return causes


def _certificate_problem(content: bytes) -> str:
    """What is wrong with the certificates of a PEM text; an empty text is fine."""
    blocks = list(_pem_blocks(content))
    if content and not blocks:
        return "must contain at least one CERTIFICATE PEM block"
    for kind, certificate in blocks:
        if kind != b"CERTIFICATE":
            return f"only CERTIFICATE PEM blocks are allowed, found {quoted(kind.decode(errors='replace'))}"
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=certificate)
        except (ssl.SSLError, ValueError):
            return "x509: malformed certificate"
    return ""


def _pem_blocks(text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Type and content of the blocks of a PEM text, up to a broken one; takes time linear in the text."""
    at = 0
    while (start := text.find(_BEGIN, at)) >= 0:
        head = text.find(_DASHES, start + len(_BEGIN))
        kind = text[start + len(_BEGIN) : head]
        at = text.find(b"-----END " + kind + _DASHES, head)
        if head < 0 or at < 0:
            return
        try:
            content = base64.b64decode(b"".join(text[head + len(_DASHES) : at].split()), validate=True)
        except ValueError:
            return
        yield kind, content


def _is_certificate_request(content: bytes) -> bool:
    """Whether the parts are those of PKCS#10: (version, subject, key, attributes), algorithm, signature."""
    outer = _der_elements(content)
    if [tag for tag, _ in outer] != [_SEQUENCE]:
        return False
    parts = _der_elements(outer[0][1])
    if [tag for tag, _ in parts] != [_SEQUENCE, _SEQUENCE, _BIT_STRING]:
        return False
    return [tag for tag, _ in _der_elements(parts[0][1])] == [_INTEGER, _SEQUENCE, _SEQUENCE, _ATTRIBUTES]


def _der_elements(content: bytes) -> list[tuple[int, bytes]]:
    """Tag and content of each element in a row; [] when a length does not fit."""
    found, at = [], 0
    while at + 1 < len(content):
        tag, length, start = content[at], content[at + 1], at + 2
        if length >= _LONG_LENGTH:
            size = length - _LONG_LENGTH
            length, start = int.from_bytes(content[start : start + size]), start + size
        at = start + length
        found.append((tag, content[start:at]))
    return found if at == len(content) else []
