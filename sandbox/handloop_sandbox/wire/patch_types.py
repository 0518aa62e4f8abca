"""The types of patches, as a PATCH names them in its Content-Type; a further one is added here."""

from __future__ import annotations

from typing import Final

JSON_PATCH: Final = "application/json-patch+json"
MERGE: Final = "application/merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"
STRATEGIC: Final = "application/strategic-merge-patch+json"


def patch_types(*, custom: bool) -> tuple[str, ...]:
    """Those that a resource takes, in the order of a refusal; a custom one takes no strategic ones."""
    return (JSON_PATCH, MERGE, APPLY) if custom else (JSON_PATCH, MERGE, APPLY, STRATEGIC)
