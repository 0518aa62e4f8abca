"""One consequence of changing a definition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

Severity = Literal["breaks", "warns"]

BREAKS: Final = "breaks"
"""A correct client is refused, or a stored object loses something or cannot be written."""
WARNS: Final = "warns"
"""Somebody may have relied on the old behavior."""


@dataclass(frozen=True, slots=True)
class Finding:
    """
    A rule that a change breaks, or that deserves attention.

    Fields: path leads to a field, such as `spec.tags[].x`, and is "" for the definition itself; version "" =
    all versions; old and new are parts of the definitions as JSON values, None for an absent part.
    """

    rule: str
    severity: Severity
    path: str
    old: Any
    new: Any
    message: str
    version: str = ""

    def document(self) -> dict[str, Any]:
        """Return the finding for a program."""
        return {
            "rule": self.rule,
            "severity": self.severity,
            "version": self.version,
            "path": self.path,
            "old": self.old,
            "new": self.new,
            "message": self.message,
        }
