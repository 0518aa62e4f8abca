"""The media types of patches, as in the Content-Type of a PATCH. Add further ones here."""

from __future__ import annotations

from typing import Final

JSON_PATCH: Final = "application/json-patch+json"
MERGE: Final = "application/merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"
STRATEGIC: Final = "application/strategic-merge-patch+json"


def patch_types(*, custom: bool) -> tuple[str, ...]:
    """Return the types a resource accepts, as a refusal lists them. Custom ones have no strategic patch."""
    return (JSON_PATCH, MERGE, APPLY) if custom else (JSON_PATCH, MERGE, APPLY, STRATEGIC)
