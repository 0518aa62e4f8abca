"""One consequence of changing a definition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

Severity = Literal["breaks", "warns"]

BREAKS: Final = "breaks"
"""A request from a correct client is refused, or a stored object loses something or cannot be written."""
WARNS: Final = "warns"
"""A client may have relied on the old behavior."""


@dataclass(frozen=True, slots=True)
class Finding:
    """
    A change that breaks something or deserves attention, with the name of the rule that found it.

    Fields: path leads to a field, such as `spec.tags[].x`, and is "" for the definition itself. version is ""
    if the change applies to all versions. old and new are parts of the definitions as JSON values, or None
    for a part that does not exist.
    """

    rule: str
    severity: Severity
    path: str
    old: Any
    new: Any
    message: str
    version: str = ""

    def document(self) -> dict[str, Any]:
        """Return the finding as a JSON object."""
        return {
            "rule": self.rule,
            "severity": self.severity,
            "version": self.version,
            "path": self.path,
            "old": self.old,
            "new": self.new,
            "message": self.message,
        }
