"""The permissions that --metrics-auth needs to check who owns a token, and what the owner may read."""

from __future__ import annotations

from typing import Final

from handloop.apis.resource import Resource
from handloop.controller.runtime.rbac.access import Access

METRICS_AUTH_ACCESS: Final = tuple(
    Access(
        resource=Resource(group, "v1", plural, kind, namespaced=False),
        verbs=("create",),
        purpose="metrics-auth",
    )
    for group, plural, kind in (
        ("authentication.k8s.io", "tokenreviews", "TokenReview"),
        ("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview"),
    )
)
