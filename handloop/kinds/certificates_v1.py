"""certificates.k8s.io/v1, complete; made by `python -m tools.generate_kinds`."""

from __future__ import annotations

from handloop.apis.meta import APIStruct, Kind, MapOf


class CertificateSigningRequestSpec(APIStruct):
    expiration_seconds: int | None = None
    extra: MapOf[tuple[str, ...]] = MapOf()
    groups: tuple[str, ...] = ()
    request: str
    signer_name: str
    uid: str | None = None
    usages: tuple[str, ...] = ()
    username: str | None = None


class CertificateSigningRequestCondition(APIStruct):
    last_transition_time: str | None = None
    last_update_time: str | None = None
    message: str | None = None
    reason: str | None = None
    status: str
    type: str


class CertificateSigningRequestStatus(APIStruct):
    certificate: str | None = None
    conditions: tuple[CertificateSigningRequestCondition, ...] = ()


class CertificateSigningRequest(
    Kind, group="certificates.k8s.io", version="v1", scope="Cluster", short_names=("csr",), partial=False
):
    spec: CertificateSigningRequestSpec
    status: CertificateSigningRequestStatus = CertificateSigningRequestStatus()
