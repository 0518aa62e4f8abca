"""The Content-Types of PATCH requests. Add further patch types here."""

from __future__ import annotations

from typing import Final

JSON_PATCH: Final = "application/json-patch+json"
MERGE: Final = "application/merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"
STRATEGIC: Final = "application/strategic-merge-patch+json"


def patch_types(*, custom: bool) -> tuple[str, ...]:
    """
    Return the patch types of a resource in the order of error messages.

    Custom resources do not support strategic merge patches.
    """
    return (JSON_PATCH, MERGE, APPLY) if custom else (JSON_PATCH, MERGE, APPLY, STRATEGIC)
